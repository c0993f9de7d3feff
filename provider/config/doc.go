// Package config resolves an AnsibleRun, its configuration, and the Secrets and ConfigMaps that both refer to, to
// inputs. It reads objects from the API server for the reconciler, and from manifests for "provider-ansible run".
//
// It also has the parts of the controllers of configurations: their kinds, usages, and the indexes with which a change
// of an object finds the AnsibleRuns and configurations that refer to it.
package config
