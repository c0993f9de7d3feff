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

// A Machine is a file system with its mounts.
type Machine struct {
	// Root of the file system.
	Root fs.FS
	// Mounts are the absolute paths of mount points.
	Mounts []string
	// Whole is true if runs may read all of the image, and not only its programs.
	Whole bool
}

// ThisMachine returns the machine that this process sees.
func ThisMachine() (Machine, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Machine{}, fmt.Errorf("cannot read what is mounted: %w", err)
	}

	return Machine{Root: os.DirFS("/"), Mounts: mountPoints(raw)}, nil
}

// Survey returns the paths of a machine that every run may read: programs and their libraries, the files in /etc that
// every user may read, and the paths in more, such as the Python of Ansible. Paths in never are excluded, and so are
// mounts of a cluster, such as Secrets.
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

// others returns the directories at the root of the image, except /etc and those that are known.
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

// kernelPaths returns files of the kernel and databases of packages with information about the machine, but not about
// other processes.
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

// foreign returns the mounts below a directory, except those for name resolution and trusted authorities.
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
		// A path that cannot be read is private, too.
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

// cover returns as few paths as possible that include a file or directory, but none of the paths to leave out.
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
		// A link may lead to a path to leave out.
		if e.Type()&fs.ModeSymlink == 0 {
			paths = append(paths, m.cover(path.Join(root, e.Name()), without)...)
		}
	}

	return paths
}

// rel returns the name of an absolute path in an fs.FS of the root.
func rel(p string) string {
	if p == "/" {
		return "."
	}

	return strings.TrimPrefix(p, "/")
}

// mountPoints returns the fifth field of each line of proc_pid_mountinfo(5), with its octal escapes decoded.
func mountPoints(mountinfo []byte) []string {
	var points []string

	for s := bufio.NewScanner(bytes.NewReader(mountinfo)); s.Scan(); {
		if f := strings.Fields(s.Text()); len(f) > 4 {
			points = append(points, strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[4]))
		}
	}

	return points
}

// resolved returns absolute paths with links followed. Missing paths are left out.
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
