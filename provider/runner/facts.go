package runner

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

const (
	// factsDir has the facts of objects, beside the private data directories. A run reaches those of its own object.
	factsDir = "facts"
	// maxFacts is how much the facts of an object may take on disk between runs, in bytes.
	maxFacts = 16 << 20
	// spare is the part of the disk that is free while facts are kept: one in so many.
	spare = 10
)

// factsEnv has Ansible keep facts, unless the ansible.cfg or variables that are set later say when to gather them.
func factsEnv(env map[string]string, in inputs.Inputs) {
	timeout := in.Parameters.FactCachingTimeout
	if timeout == nil {
		return
	}

	if in.AnsibleConfig().Get("defaults", "gathering") == "" {
		env["ANSIBLE_GATHERING"] = "smart"
	}

	env["ANSIBLE_CACHE_PLUGIN_TIMEOUT"] = strconv.Itoa(int(timeout.Seconds()))
}

// facts of an object, in a directory. A UID that is none of an API server is that of a manifest, and may be a path.
func (r *Runner) facts(uid types.UID) string {
	return filepath.Join(r.dir, factsDir, url.PathEscape(string(uid))+".facts")
}

// factsOf a run are those of its object, if it keeps them; empty for none. An object without a UID is not in a cluster.
func (r *Runner) factsOf(run Spec) string {
	if run.Object.UID == "" || run.Inputs.Parameters.FactCachingTimeout == nil {
		return ""
	}

	return r.facts(run.Object.UID)
}

// boundFacts when a run has ended. Too many are not kept, nor those of a run that was ended, since its object may be
// gone, nor any where the disk is filling, nor what is no directory any more: they are gathered again.
func (r *Runner) boundFacts(ctx context.Context, run Spec) {
	if run.Object.UID == "" {
		return
	}

	if dir := r.factsOf(run); dir != "" {
		var disk unix.Statfs_t

		limit := workdir.Limits{Size: maxFacts}
		used, err := workdir.Measure(ctx, dir, limit)
		info, lerr := os.Lstat(dir)

		if errors.Join(err, lerr, unix.Statfs(r.dir, &disk)) == nil &&
			info.IsDir() && !limit.Exceeded(used) && disk.Bavail >= disk.Blocks/spare {
			return
		}
	}

	r.Forget(run.Object.UID)
}

// Forget the facts of an object that is gone. What cannot be removed now is removed with all others when a provider
// starts.
func (r *Runner) Forget(uid types.UID) { _ = workdir.Remove(r.facts(uid)) }
