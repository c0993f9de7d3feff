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
	// factsDir is the directory of the fact caches of objects, beside the private data directories. A run has access to
	// the cache of its own object only.
	factsDir = "facts"
	// maxFacts is the largest size of a fact cache that is kept between runs, in bytes.
	maxFacts = 16 << 20
	// spare is the divisor of the part of the disk that must be free to keep facts: a tenth.
	spare = 10
)

// factsEnv configures Ansible's fact cache. The ansible.cfg, and variables that are set later, take precedence.
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

// facts returns the directory of the fact cache of an object. The UID is escaped, since a manifest that comes from no
// API server can have a path there.
func (r *Runner) facts(uid types.UID) string {
	return filepath.Join(r.dir, factsDir, url.PathEscape(string(uid))+".facts")
}

// factsOf returns the directory of the fact cache of a run; empty if its object has none. An object without a UID is
// not in a cluster.
func (r *Runner) factsOf(run Spec) string {
	if run.Object.UID == "" || run.Inputs.Parameters.FactCachingTimeout == nil {
		return ""
	}

	return r.facts(run.Object.UID)
}

// boundFacts removes the fact cache after a run if it must not be kept: if it is too large, if the context is done,
// since the object may be gone, if the disk is almost full, or if the content has replaced the directory. The next run
// gathers the facts again.
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

// Forget removes the fact cache of an object that is gone. It ignores errors: the start of a provider removes all
// caches.
func (r *Runner) Forget(uid types.UID) { _ = workdir.Remove(r.facts(uid)) }
