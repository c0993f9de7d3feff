package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Machine is a file system and what is mounted in it.
type Machine struct {
	// Root of the file system.
	Root fs.FS
	// Mounts are the absolute paths at which something is mounted.
	Mounts []string
	// Whole is true if runs may read all of the image, and not its programs only.
	Whole bool
}

// ThisMachine is the one that this process sees.
func ThisMachine() (Machine, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Machine{}, fmt.Errorf("cannot read what is mounted: %w", err)
	}

	return Machine{Root: os.DirFS("/"), Mounts: mountPoints(raw)}, nil
}

// Survey returns the paths of a machine that every run may read: programs and what they need,
// and the files of the image in /etc that every user may read. More are paths that every run may
// read, too, such as the Python that Ansible runs in. Never are paths that no run may read.
//
// Mounts of a cluster in the image, such as Secrets, are left out.
func (m Machine) Survey(more, never []string) []string {
	var paths []string

	roots := []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"}
	if m.Whole {
		roots = append(roots, m.others(roots)...)
	}

	for _, root := range roots {
		paths = append(paths, m.cover(root, slices.Concat(m.foreign(root), never))...)
	}

	paths = append(paths, m.cover("/etc", slices.Concat(m.private("/etc"), m.foreign("/etc"), never))...)

	for _, p := range more {
		paths = append(paths, m.cover(p, never)...)
	}

	return append(paths, kernelPaths()...)
}

// others are the directories of the image at its root, without those that are known and /etc.
func (m Machine) others(known []string) []string {
	entries, _ := fs.ReadDir(m.Root, ".")

	var dirs []string

	for _, e := range entries {
		dir := "/" + e.Name()
		if e.IsDir() && dir != "/etc" && !slices.Contains(known, dir) && !slices.Contains(m.Mounts, dir) {
			dirs = append(dirs, dir)
		}
	}

	return dirs
}

// kernelPaths returns files of the kernel, and databases of packages, from which programs learn
// about the machine. They say nothing about other processes.
func kernelPaths() []string {
	return []string{
		"/proc/cmdline", "/proc/cpuinfo", "/proc/devices", "/proc/diskstats", "/proc/filesystems", "/proc/loadavg",
		"/proc/meminfo",
		"/proc/modules", "/proc/partitions", "/proc/stat", "/proc/swaps", "/proc/sys", "/proc/uptime", "/proc/version",
		"/sys/block", "/sys/bus", "/sys/class", "/sys/devices", "/sys/kernel/mm/transparent_hugepage",
		"/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf",
		"/var/lib/apt", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/ca-certificates",
	}
}

// foreign are the mounts below a directory, except those that are for every run: name
// resolution, and trusted authorities.
func (m Machine) foreign(dir string) []string {
	known := []string{
		"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/localtime",
		"/etc/ssl/certs", "/etc/pki/ca-trust", "/etc/pki/tls/certs", "/usr/local/share/ca-certificates", "/usr/share/pki",
	}

	return slices.DeleteFunc(slices.Clone(m.Mounts), func(mount string) bool {
		return mount == dir || !Within(mount, dir) ||
			slices.ContainsFunc(known, func(k string) bool { return Within(mount, k) })
	})
}

// private returns the files and directories below a directory that only some users may read.
func (m Machine) private(dir string) []string {
	const read, enter = 0o004, 0o001

	var found []string

	_ = fs.WalkDir(m.Root, rel(dir), func(p string, d fs.DirEntry, err error) error {
		// A path that cannot be looked at is private, too.
		if d == nil || err != nil {
			found = append(found, "/"+p)

			return fs.SkipDir
		}

		if d.Type()&fs.ModeSymlink != 0 {
			return nil
		}

		need := fs.FileMode(read)
		if d.IsDir() {
			need |= enter
		}

		info, err := d.Info()
		if err == nil && info.Mode()&need == need {
			return nil
		}

		found = append(found, "/"+p)
		if d.IsDir() {
			return fs.SkipDir
		}

		return nil
	})

	return found
}

// cover a file or directory with as few paths as possible, none of which leads to a path that is
// left out.
func (m Machine) cover(root string, without []string) []string {
	if slices.ContainsFunc(without, func(w string) bool { return Within(root, w) }) {
		return nil
	}

	if !slices.ContainsFunc(without, func(w string) bool { return Within(w, root) }) {
		return []string{root}
	}

	entries, _ := fs.ReadDir(m.Root, rel(root))

	var paths []string

	for _, e := range entries {
		// A link may lead to a path that is left out.
		if e.Type()&fs.ModeSymlink == 0 {
			paths = append(paths, m.cover(path.Join(root, e.Name()), without)...)
		}
	}

	return paths
}

// rel returns an absolute path as an fs.FS of the root names it.
func rel(p string) string {
	if p == "/" {
		return "."
	}

	return strings.TrimPrefix(p, "/")
}

// mountPoints of proc_pid_mountinfo(5): the fifth field, with blanks escaped in
// octal.
func mountPoints(mountinfo []byte) []string {
	var points []string

	for s := bufio.NewScanner(bytes.NewReader(mountinfo)); s.Scan(); {
		if f := strings.Fields(s.Text()); len(f) > 4 {
			points = append(points, strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[4]))
		}
	}

	return points
}

// resolved returns the targets of absolute paths, with links followed. Paths that do not exist
// are left out.
func resolved(paths []string) []string {
	var out []string

	for _, p := range paths {
		if !filepath.IsAbs(p) {
			continue
		}

		if target, err := filepath.EvalSymlinks(p); err == nil {
			out = append(out, target)
		}
	}

	slices.Sort(out)

	return slices.Compact(out)
}
