package faults

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/proxy"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// namespace of what is namespaced.
const namespace = "faults"

// A stage has the replicas of the provider on the control plane, and the ledger of plays.
type stage struct {
	t    *testing.T
	kube client.Client

	records  records
	traps    *trap.Passage
	director *director
	book     *ledger.Book
	ledger   string
	replicas []*replica

	began time.Time
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

func newStage(t *testing.T, rng *rand.Rand) *stage {
	t.Helper()

	s := &stage{t: t, began: time.Now(), records: records{told: map[string]string{}}}
	s.traps = &trap.Passage{Seen: s.seen}
	s.director = newDirector(s.traps, rng)

	// This client bypasses the proxies.
	cfg, err := stack.Config()
	needs.OK(t, err)

	cfg.Timeout = 10 * time.Second
	s.kube, err = client.New(cfg, client.Options{Scheme: controlplane.Scheme()})
	needs.OK(t, err)
	needs.OK(t, s.kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))

	file, err := os.Create("../../.cache/logs/faults/ledger.log")
	needs.OK(t, err)
	t.Cleanup(func() { needs.OK(t, file.Close()) })

	s.book = ledger.NewBook(file)

	host := "127.0.0.1"
	if inPods {
		host = stack.Address() // Runs in Pods reach this machine by another address.

		needs.OK(t, stack.AllowPods(t.Context(), ""))
		needs.OK(t, stack.ImportProvider(t.Context()))
	}

	s.ledger = ledger.Serve(t, host, s.book, s.director.Play)

	for _, name := range replicaNames() {
		s.replicas = append(s.replicas, s.replica(name, proxy.Start(t, cfg, s.traps)))
	}

	t.Cleanup(func() {
		for _, r := range s.replicas {
			if r.piece != nil {
				_ = r.piece.Stop(context.Background())
			}
		}
	})

	return s
}

// replica prepares a replica, without starting it.
func (s *stage) replica(name string, p *proxy.Proxy) *replica {
	dir := filepath.Join(filepath.Dir(stack.StateDir()), name)
	r := &replica{name: name, proxy: p, state: filepath.Join(dir, "state"), temp: filepath.Join(dir, "temp")}
	needs.OK(s.t, os.MkdirAll(r.temp, 0o700))

	config, err := clientcmd.LoadFromFile(stack.ProviderKubeconfig())
	needs.OK(s.t, err)

	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthorityData = p.URL(), p.CA()
	}

	kubeconfig := filepath.Join(dir, "kubeconfig")
	needs.OK(s.t, clientcmd.WriteToFile(*config, kubeconfig))

	health, err := controlplane.FreeAddress(s.t.Context())
	needs.OK(s.t, err)
	metrics, err := controlplane.FreeAddress(s.t.Context())
	needs.OK(s.t, err)

	place := common.PlaceProvider
	if inPods {
		place = common.PlacePod
	}

	r.metrics = "http://" + metrics + "/metrics"
	r.make = func(flags ...string) *controlplane.Piece {
		return stack.Replica(controlplane.Replica{
			Name: name, StateDir: r.state, Health: health, Metrics: metrics, Kubeconfig: kubeconfig,
			Ready: "/healthz",
			Env:   []string{"TMPDIR=" + r.temp},
		}, append(flags, "--shutdown-grace-period=4s", "--max-concurrent-runs=3",
			"--place="+string(place), "--pod-image="+controlplane.ProviderImage, "--max-concurrent-pods=6")...)
	}

	return r
}
