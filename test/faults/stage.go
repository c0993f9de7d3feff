package main

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/proxy"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

// namespace of what is namespaced.
const namespace = "faults"

// A stage is all that faults are injected into: a control plane, replicas of the provider, and the ledger that plays
// write.
type stage struct {
	out   io.Writer
	dir   string
	stack *controlplane.Stack
	kube  client.Client
	cfg   *rest.Config

	// place of runs.
	place    common.Place
	records  records
	traps    *trap.Set
	director *director
	book     *ledger.Book
	ledger   *ledger.Server
	replicas []*replica

	began   time.Time
	cleanup []func() error
}

// A replica of the provider, with a proxy of the API server of its own.
type replica struct {
	name    string
	make    func(flags ...string) *controlplane.Piece
	piece   *controlplane.Piece // Nil while it is not to run.
	proxy   *proxy.Proxy
	state   string
	temp    string
	elects  bool
	metrics string
}

// Names of the replicas.
func replicaNames() []string { return []string{"provider-one", "provider-two"} }

func newStage(ctx context.Context, out io.Writer, place common.Place, rng *rand.Rand) (*stage, error) {
	s := &stage{out: out, place: place, began: time.Now(), records: records{told: map[string]string{}}}
	s.traps = &trap.Set{Seen: s.seen}

	if err := s.open(ctx, rng); err != nil {
		return nil, errors.Join(err, s.close())
	}

	return s, nil
}

func (s *stage) open(ctx context.Context, rng *rand.Rand) error {
	var err error

	s.stack, err = controlplane.New(controlplane.Options{
		Root: ".", Dir: ".cache/faults", Logs: ".cache/logs/faults", Kubeconfig: ".cache/faults.kubeconfig", Bare: true,
		Node: s.inPods(), Out: io.Discard,
	})
	if err != nil {
		return err
	}

	unlock, err := s.stack.Lock(ctx)
	if err != nil {
		return err
	}

	s.later(unlock)

	if s.dir, err = filepath.Abs(".cache/faults-data"); err != nil {
		return errors.Wrap(err, "cannot find a directory")
	}

	if err := errors.Join(s.stack.Down(ctx), os.RemoveAll(s.dir), os.RemoveAll(".cache/logs/faults"),
		os.MkdirAll(s.dir, 0o700)); err != nil {
		return errors.Wrap(err, "cannot remove what was left")
	}

	s.later(s.stack.Races)
	s.later(func() error { return s.stack.Down(context.Background()) })

	if err := s.stack.Up(ctx); err != nil {
		return err
	}

	if err := s.connect(ctx); err != nil {
		return err
	}

	if err := s.startServers(ctx, rng); err != nil {
		return err
	}

	if !s.inPods() {
		return nil
	}

	return errors.Join(s.stack.AllowPods(ctx, ""), s.stack.ImportProvider(ctx))
}

// connect to the API server, past the proxies.
func (s *stage) connect(ctx context.Context) error {
	var err error
	if s.cfg, err = s.stack.Config(); err != nil {
		return err
	}

	s.cfg.Timeout = 10 * time.Second

	if s.kube, err = client.New(s.cfg, client.Options{Scheme: controlplane.Scheme()}); err != nil {
		return errors.Wrap(err, "cannot make a client")
	}

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}

	return errors.Wrap(s.kube.Create(ctx, ns), "cannot make a namespace")
}

// startServers starts the ledger, and what replicas need.
func (s *stage) startServers(ctx context.Context, rng *rand.Rand) error {
	file, err := os.Create(filepath.Join(filepath.Dir(s.dir), "logs", "faults", "ledger.log"))
	if err != nil {
		return errors.Wrap(err, "cannot write the ledger")
	}

	s.later(file.Close)

	s.book = ledger.NewBook(file)
	s.director = newDirector(s.traps, rng)

	// Runs in Pods reach this machine by another address.
	host := "127.0.0.1"
	if s.inPods() {
		host = s.stack.Address()
	}

	if s.ledger, err = ledger.Serve(ctx, host, s.book, s.director.Play); err != nil {
		return err
	}

	s.later(func() error { s.ledger.Stop(); return nil })

	for _, name := range replicaNames() {
		if err := s.replica(ctx, name); err != nil {
			return err
		}
	}

	return nil
}

// replica makes what a replica needs, without starting it.
func (s *stage) replica(ctx context.Context, name string) error {
	p, err := proxy.Start(s.cfg, s.traps)
	if err != nil {
		return err
	}

	s.later(func() error { p.Stop(); return nil })

	dir := filepath.Join(s.dir, name)
	r := &replica{name: name, proxy: p, state: filepath.Join(dir, "state"), temp: filepath.Join(dir, "temp")}

	if err := os.MkdirAll(r.temp, 0o700); err != nil {
		return errors.Wrap(err, "cannot make a directory")
	}

	config, err := clientcmd.LoadFromFile(s.stack.ProviderKubeconfig())
	if err != nil {
		return errors.Wrap(err, "cannot load the kubeconfig of the provider")
	}

	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthorityData = p.URL(), p.CA()
	}

	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return errors.Wrap(err, "cannot write a kubeconfig")
	}

	health, err := controlplane.FreeAddress(ctx)
	if err != nil {
		return err
	}

	metrics, err := controlplane.FreeAddress(ctx)
	if err != nil {
		return err
	}

	r.metrics = "http://" + metrics + "/metrics"
	r.make = func(flags ...string) *controlplane.Piece {
		return s.stack.Replica(controlplane.Replica{
			Name: name, StateDir: r.state, Health: health, Metrics: metrics, Kubeconfig: kubeconfig,
			Ready: "/healthz",
			Env:   []string{"TMPDIR=" + r.temp},
		}, append(flags, "--shutdown-grace-period=4s", "--max-concurrent-runs=3",
			"--place="+string(s.place), "--pod-image="+controlplane.ProviderImage, "--max-concurrent-pods=6")...)
	}
	s.replicas = append(s.replicas, r)

	return nil
}

// later closes what was opened, last first.
func (s *stage) later(fn func() error) { s.cleanup = append(s.cleanup, fn) }

// close all that was started, and remove what was made but for the logs.
func (s *stage) close() error {
	// First those that talk to what is closed.
	for _, r := range s.replicas {
		if r.piece != nil {
			_ = r.piece.Stop(context.Background())
		}
	}

	var err error

	for len(s.cleanup) > 0 {
		last := len(s.cleanup) - 1
		err = errors.Join(err, s.cleanup[last]())
		s.cleanup = s.cleanup[:last]
	}

	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}

	return err
}
