package runner

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

const (
	// factsDir is where the facts of objects are between their runs, beside the private data directories: no run reaches
	// them there.
	factsDir = "facts"
	// cacheDir of a private data directory is where ansible-runner has Ansible's plugin jsonfile keep facts, whatever
	// variables say.
	cacheDir = "artifacts/" + ident + "/fact_cache"
	// maxFacts is how much the facts of an object may take on disk, in bytes.
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

// facts of an object, between its runs. A UID that is none of an API server is that of a manifest, and may be a path.
func (r *Runner) facts(uid types.UID) string {
	return filepath.Join(r.dir, factsDir, url.PathEscape(string(uid))+".facts")
}

// takeFacts into the private data directory of a run, if there are any. An object without a UID is not in a cluster.
func (r *Runner) takeFacts(run Spec, p plan) error {
	switch {
	case run.Object.UID == "":
		return nil
	case run.Inputs.Parameters.FactCachingTimeout == nil:
		r.Forget(run.Object.UID)

		return nil
	}

	dir := filepath.Join(p.Dir, cacheDir)

	err := os.MkdirAll(filepath.Dir(dir), modeDir)
	if err == nil {
		err = os.Rename(r.facts(run.Object.UID), dir)
	}

	if errors.Is(err, os.ErrNotExist) {
		return nil
	}

	return errors.Wrap(err, "cannot use the facts of earlier runs")
}

// keepFacts of a run that has ended. Those of a run that was ended are not kept, since its object may be gone, and too
// many neither: they are gathered again. Where the disk is filling, the facts of all objects go.
func (r *Runner) keepFacts(ctx context.Context, run Spec, p plan) {
	dir := filepath.Join(p.Dir, cacheDir)
	limit := workdir.Limits{Size: maxFacts}

	if run.Inputs.Parameters.FactCachingTimeout == nil || run.Object.UID == "" || ctx.Err() != nil {
		return
	}

	if !ownDirectory(p.Dir, cacheDir) {
		return
	}

	if used, err := workdir.Measure(ctx, dir, limit); err != nil || limit.Exceeded(used) || used.Entries == 0 {
		return
	}

	var disk unix.Statfs_t
	if err := unix.Statfs(r.dir, &disk); err != nil || disk.Bavail < disk.Blocks/spare {
		_ = workdir.Remove(filepath.Join(r.dir, factsDir))

		return
	}

	kept := r.facts(run.Object.UID)
	if err := os.MkdirAll(filepath.Dir(kept), modeDir); err == nil {
		_ = os.Rename(dir, kept) // The private data directory is removed.
	}
}

// ownDirectory is true for a path below a directory that content has left: each part of it is a directory, not a link.
func ownDirectory(below, path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		below = filepath.Join(below, part)

		if info, err := os.Lstat(below); err != nil || !info.IsDir() {
			return false
		}
	}

	return true
}

// Forget the facts of an object that is gone. What cannot be removed now is removed with all others when a provider
// starts.
func (r *Runner) Forget(uid types.UID) { _ = workdir.Remove(r.facts(uid)) }
