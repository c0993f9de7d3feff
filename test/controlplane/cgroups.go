package controlplane

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Where control groups are, of either version.
const cgroups = "/sys/fs/cgroup"

// hierarchies of control groups: one, or in version 1 one for each controller.
func hierarchies() []string {
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err == nil {
		return []string{cgroups}
	}
	files, _ := filepath.Glob(filepath.Join(cgroups, "*", "cgroup.procs"))
	for i, f := range files {
		files[i] = filepath.Dir(f)
	}
	return files
}

// endPods kills what runs in the control groups of the stack's Pods, and removes
// these.
func (s *Stack) endPods(ctx context.Context) error {
	for {
		ps, err := s.contained()
		if err != nil {
			return err
		}
		if len(ps) == 0 {
			break
		}
		if err := end(ctx, ps, 0); err != nil {
			return err
		}
	}
	for _, h := range hierarchies() {
		var dirs []string
		err := filepath.WalkDir(filepath.Join(h, s.link()), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return ignoreNotExist(err)
		})
		for _, dir := range slices.Backward(dirs) {
			err = errors.Join(err, ignoreNotExist(os.Remove(dir)))
		}
		if err != nil {
			return errors.Wrap(err, "cannot remove control groups")
		}
	}
	return nil
}

// contained are the processes in the control groups of the stack's Pods.
func (s *Stack) contained() ([]process, error) {
	return processesWith(func(p process, about procfs.Proc) (process, bool) {
		groups, err := about.Cgroups()
		if err != nil {
			return p, false // It has ended.
		}
		if over, err := p.ended(0); over || err != nil {
			return p, false // It has ended, and stays as a zombie.
		}
		own := func(g procfs.Cgroup) bool { return strings.HasPrefix(g.Path, "/"+s.link()+"/") }
		return p, slices.ContainsFunc(groups, own)
	})
}
