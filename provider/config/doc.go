// Package config resolves an AnsibleRun, its configuration, and the Secrets and ConfigMaps
// that both refer to, to inputs. The reconciler calls it with objects from the API server,
// "provider-ansible run" with manifests.
//
// It also has what the controllers of configurations need: their kinds, the indexes by
// which a change finds the objects that it concerns, and usages.
package config
