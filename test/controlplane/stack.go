package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Names of the pieces, the file with their ports, and the purposes of these.
const (
	nameEtcd              = "etcd"
	nameAPIServer         = "kube-apiserver"
	nameControllerManager = "kube-controller-manager"
	nameScheduler         = "kube-scheduler"
	nameNode              = "test-node"
	nameDNS               = "coredns"
	nameContainerd        = "containerd"
	nameKubelet           = "kubelet"
	nameCore              = "crossplane"
	nameRBAC              = "crossplane-rbac-manager"
	nameFunction          = "function-ansible"
	nameProvider          = "provider-ansible"

	filePorts = "ports.json"

	portEtcdPeer        = "etcd-peer"
	portCoreHealth      = "crossplane-health"
	portCoreWebhooks    = "crossplane-webhooks"
	portFunctionMetrics = "function-ansible-metrics"
	portProviderMetrics = "provider-ansible-metrics"
)

// order in which the pieces start.
func order() []string {
	return []string{
		nameEtcd, nameAPIServer, nameControllerManager, nameScheduler, nameNode, nameDNS, nameContainerd, nameKubelet,
		nameCore, nameFunction, nameProvider,
	}
}

// Options of a Stack. All paths but Root are relative to Root unless they are
// absolute.
type Options struct {
	// Root of the project.
	Root string

	// Dir is what the stack is known by, and where its data are. It is removed
	// when the stack goes down.
	Dir string

	// Logs is the directory for the logs. They stay.
	Logs string

	// Kubeconfig is written for the user. It is removed when the stack goes
	// down.
	Kubeconfig string

	// ProviderFlags are flags of provider-ansible in the form --name=value, on
	// top of those that it needs here, or instead of them.
	ProviderFlags []string

	// Bare leaves out Crossplane, the function, and the process of the provider:
	// only etcd, kube-apiserver and the provider's API are there.
	Bare bool

	// Packages leaves the function and the provider to the package manager of
	// Crossplane, which runs them on a node, with the rights that it gives them.
	Packages bool

	// Node adds a node that runs Pods. It needs what CheckNode asks for.
	Node bool

	// Place is where runs are carried out if their configuration does not say so. With Pod there is a node, and all
	// Pods of runs have the shared directory.
	Place common.Place

	// Out gets a line for each step, and the end of the log of what failed.
	Out io.Writer
}

// A Stack is a control plane with the function and the provider.
type Stack struct {
	opts  Options
	ports ports

	// functions are brought up one after another.
	functions sync.Mutex
}

// New stack, not started. Nothing runs behind it until it is brought up, by it or by another command.
func New(o Options) (*Stack, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, errors.Wrap(err, "cannot find the project")
	}
	// The identity of the stack must not depend on how it was spelt.
	if o.Root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, errors.Wrap(err, "cannot find the project")
	}
	for _, p := range []*string{&o.Dir, &o.Logs, &o.Kubeconfig} {
		if !filepath.IsAbs(*p) {
			*p = filepath.Join(o.Root, *p)
		}
	}
	if !slices.Contains([]common.Place{"", common.PlaceProvider, common.PlacePod}, o.Place) {
		return nil, errors.Errorf("runs cannot be carried out in %q", o.Place)
	}
	o.Node = o.Node || o.Packages || o.Place == common.PlacePod
	return &Stack{opts: o}, nil
}

// Lock the stack against others that want to bring it up or down, and wait for
// those that do so. The lock goes with the process that holds it.
func (s *Stack) Lock(ctx context.Context) (unlock func() error, err error) {
	file := s.opts.Dir + ".lock"
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return nil, errors.Wrap(err, "cannot make directory")
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Wrap(err, "cannot open lock")
	}
	locked := make(chan error, 1)
	go func() { locked <- syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }()
	select {
	case err = <-locked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Wrapf(errors.Join(err, f.Close()), "cannot lock %q", file)
	}
	return f.Close, nil
}

// A step on the way up.
type step struct {
	name string
	run  func(context.Context) (outcome, error)
}

// Up brings the stack up and returns when all of it is ready. What is up already
// stays as it is, unless its binary or its flags have changed. The stack should
// be locked.
func (s *Stack) Up(ctx context.Context) error {
	start := time.Now()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if running, err := s.holder().Running(); err != nil || running {
		if err != nil {
			return err
		}
		s.opts.Node = true // It stays as it is.
	}
	steps := []step{{nameEtcd, s.ensure(s.Etcd)}, {nameAPIServer, s.ensure(s.APIServer)}}
	if s.opts.Node || !s.opts.Bare {
		steps = append(steps, step{nameControllerManager, s.ensure(s.controllerManager)})
	}
	if s.opts.Node { // It gets ready while the others start.
		steps = append(steps, s.nodeSteps()...)
	}
	if s.opts.Bare {
		steps = append(steps, step{"namespace", s.initNamespace})
	} else {
		steps = append(steps,
			step{"crossplane init", s.initCore},
			step{nameCore, s.ensure(s.core)},
			step{"webhooks of crossplane", s.installWebhooks},
		)
	}
	if s.opts.Packages {
		steps = append(steps, step{nameRBAC, s.rbac})
	} else {
		steps = append(steps, step{"API of the provider", s.installProvider})
	}
	if !s.opts.Bare && !s.opts.Packages {
		steps = append(steps, step{nameFunction, s.ensure(s.function)}, step{nameProvider, s.ensure(s.provider)})
	}
	if s.opts.Node {
		steps = append(steps, step{"node", s.nodeReady})
	}
	for _, st := range steps {
		t := time.Now()
		o, err := st.run(ctx)
		if err != nil {
			s.printf("  %-26s %-10s %5.1fs\n", st.name, "failed", time.Since(t).Seconds())
			s.explain(st.name)
			return errors.Wrapf(err, "cannot bring up %s", st.name)
		}
		s.printf("  %-26s %-10s %5.1fs\n", st.name, o, time.Since(t).Seconds())
	}
	s.printf("  %-26s %-10s %5.1fs\n", "", "ready", time.Since(start).Seconds())
	return nil
}

// Built says what the stack needs that was not built yet; nil when it is all there.
func (s *Stack) Built() error {
	for _, n := range order() {
		if isNode(n) && !s.opts.Node {
			continue
		}
		if _, err := os.Stat(s.bin(n)); err != nil {
			return errors.Wrapf(err, "cannot find %s", n)
		}
	}
	if s.opts.Node && !s.opts.Bare && !s.opts.Packages {
		_, err := os.Stat(s.providerArchive())
		return errors.Wrap(err, "cannot find the image of the provider")
	}
	return nil
}

// prepare directory, ports and credentials.
func (s *Stack) prepare(ctx context.Context) error {
	if _, err := os.Stat(s.path(filePorts)); os.IsNotExist(err) {
		// A new life, and no logs of an old one.
		for _, n := range order() {
			if err := ignoreNotExist(os.Remove(s.log(n))); err != nil {
				return errors.Wrap(err, "cannot remove old log")
			}
		}
	}
	if err := os.MkdirAll(s.SharedDir(), 0o700); err != nil {
		return errors.Wrap(err, "cannot make directory")
	}
	p, err := loadPorts(ctx, s.path(filePorts), nameEtcd, portEtcdPeer, nameAPIServer, nameKubelet,
		nameCore, portCoreHealth, portCoreWebhooks, nameFunction, portFunctionMetrics, nameProvider, portProviderMetrics)
	if err != nil {
		return err
	}
	s.ports = p
	return s.credentials()
}

// ensure makes a step of a piece.
func (s *Stack) ensure(piece func(context.Context) (*Piece, error)) func(context.Context) (outcome, error) {
	return func(ctx context.Context) (outcome, error) {
		p, err := piece(ctx)
		if err != nil {
			return "", err
		}
		return p.ensure(ctx)
	}
}

// Down stops all processes of the stack, last started first, waits for their
// end, and removes the data. The stack should be locked.
func (s *Stack) Down(ctx context.Context) error {
	names, err := s.pieces()
	if err != nil {
		return err
	}
	if s.ports, err = loadPorts(ctx, s.path(filePorts)); err != nil {
		return err
	}
	slices.Reverse(names)
	stopped := 0
	for _, n := range names {
		t := time.Now()
		if n == nameContainerd {
			// What starts Pods has ended, and containerd still tidies up after them.
			if err := s.endPods(ctx); err != nil {
				return err
			}
		}
		p := &Piece{Name: n, stack: s.opts.Dir}
		ps, err := p.processes()
		if err != nil {
			return err
		}
		if len(ps) == 0 {
			continue
		}
		if n == nameAPIServer { // By itself it would wait for half a minute, for what goes with it.
			err = end(ctx, ps, 0)
		} else {
			err = p.Stop(ctx)
		}
		if err != nil {
			return err
		}
		s.printf("  %-26s %-10s %5.1fs\n", n, "stopped", time.Since(t).Seconds())
		stopped++
	}
	if stopped == 0 {
		s.printf("  nothing was running\n")
	}
	if err := s.disconnect(ctx); err != nil {
		return err
	}
	if err := removeAll(s.opts.Dir); err != nil {
		return errors.Wrap(err, "cannot remove data")
	}
	return errors.Wrap(ignoreNotExist(os.Remove(s.opts.Kubeconfig)), "cannot remove kubeconfig")
}

// removeAll removes a directory with all that is in there, also where its owner may not write.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // The directory is about to go.
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// pieces in the order in which they start, those included that run and are not
// part of every stack.
func (s *Stack) pieces() ([]string, error) {
	ps, err := processes(s.opts.Dir)
	if err != nil {
		return nil, err
	}
	names := order()
	for _, p := range ps {
		if !slices.Contains(names, p.piece) {
			names = append(names, p.piece)
		}
	}
	return names, nil
}

// Config of a client that may do everything.
func (s *Stack) Config() (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", s.path(dirKubernetes, fileKubeconfig))
	if err != nil {
		return nil, errors.Wrap(err, "cannot load kubeconfig")
	}
	cfg.QPS = -1 // There is no other client to be fair to.
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg, nil
}

// Client that may do everything.
func (s *Stack) Client() (client.Client, error) {
	cfg, err := s.Config()
	if err != nil {
		return nil, err
	}
	c, err := client.New(cfg, client.Options{Scheme: Scheme()})
	return c, errors.Wrap(err, "cannot make client")
}

// Kubeconfig is the path of the user's kubeconfig.
func (s *Stack) Kubeconfig() string {
	return s.opts.Kubeconfig
}

// Tool is the path of a program that belongs to the control plane.
func (s *Stack) Tool(name string) string {
	return filepath.Join(s.opts.Root, ".cache", "bin", name)
}

// envRelease is the release of Crossplane, such as v2.0.2, that stacks run instead
// of the one that is pinned: what make CROSSPLANE=v2.0.2 builds.
const envRelease = "CROSSPLANE"

// envRace is set where stacks run the function and the provider with the race detector: what make RACE=1 builds.
const envRace = "RACE"

// Since says whether the Crossplane of stacks is of a release, such as v2.2, or a
// newer one.
func Since(release string) bool {
	v := os.Getenv(envRelease)
	return v == "" || version.MustParseGeneric(v).AtLeast(version.MustParseGeneric(release))
}

// VirtualEnv is the directory with the programs of Ansible.
func (s *Stack) VirtualEnv() string {
	return filepath.Join(s.opts.Root, ".cache", "venv", "bin")
}

// Tail returns the last lines of the log of a piece, at most n bytes of them.
func (s *Stack) Tail(name string, n int) string {
	b, err := os.ReadFile(s.log(name))
	if err != nil {
		return err.Error() + "\n"
	}
	if before := len(b) - n; before > 0 {
		_, b, _ = bytes.Cut(b[before:], []byte("\n"))
	}
	return string(b)
}

// log file of a piece.
func (s *Stack) log(name string) string {
	return filepath.Join(s.opts.Logs, name+".log")
}

// path below the directory of the stack.
func (s *Stack) path(elem ...string) string {
	return filepath.Join(append([]string{s.opts.Dir}, elem...)...)
}

// bin is the path of a binary: our own, or a tool's.
func (s *Stack) bin(name string) string {
	switch name {
	case nameFunction, nameProvider:
		if os.Getenv(envRace) != "" {
			return filepath.Join(s.opts.Root, "bin", "race", name)
		}
		return filepath.Join(s.opts.Root, "bin", name)
	case nameCore:
		return filepath.Join(s.release(), "bin", nameCore)
	}
	return s.Tool(name)
}

// release of Crossplane that the stack runs: the directory with its program and
// its API.
func (s *Stack) release() string {
	if v := os.Getenv(envRelease); v != "" {
		return filepath.Join(s.opts.Root, ".cache", "crossplane-"+v)
	}
	return filepath.Join(s.opts.Root, ".cache")
}

// explain why a step failed with the end of its log.
func (s *Stack) explain(name string) {
	if st, err := os.Stat(s.log(name)); err != nil || st.Size() == 0 {
		return
	}
	s.printf("\n%s\nThese were the last lines of %s\n\n", s.Tail(name, 4<<10), s.log(name))
}

func (s *Stack) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.opts.Out, format, args...)
}

func ignoreNotExist(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
