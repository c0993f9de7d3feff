package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-ansible/crossplane-ansible/test/container"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// A node does for the Pods of Crossplane's namespace what a scheduler, a kubelet
// and a DNS server do: it runs what they say, with what they ask for and nothing
// else, stops it as they say, and reports.
type node struct {
	Registry *warehouse

	// Installed says whether a test has installed the packages.
	Installed bool

	kube  client.Client
	api   *rest.Config
	dir   string
	hosts string

	mu     sync.Mutex
	pods   map[types.UID]*pod
	images map[string]*runtimeImage
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// A runtimeImage is an image that was extracted.
type runtimeImage struct {
	root   string
	config v1.Config
}

// newNode that keeps its files in a directory, and names in a file of hosts.
func newNode(c *cluster, dir, hosts string) (*node, error) {
	cfg, err := c.stack.Config()
	return &node{
		Registry: newWarehouse(), kube: c.kube, api: cfg, dir: dir, hosts: hosts,
		pods: map[types.UID]*pod{}, images: map[string]*runtimeImage{},
	}, err
}

// Start looking for Pods.
func (n *node) Start(ctx context.Context) {
	ctx, n.stop = context.WithCancel(ctx)
	n.wg.Go(func() {
		for ctx.Err() == nil {
			n.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(interval):
			}
		}
	})
}

// Stop all Pods, without reporting it.
func (n *node) Stop() {
	n.stop()
	n.wg.Wait()
	n.Registry.Close()
}

// look at what there is, and begin what is new.
func (n *node) look(ctx context.Context) {
	services := &corev1.ServiceList{}
	pods := &corev1.PodList{}
	if n.kube.List(ctx, services, client.InNamespace(controlplane.Namespace)) != nil || n.kube.List(ctx, pods, client.InNamespace(controlplane.Namespace)) != nil {
		return
	}
	names := "127.0.0.1 localhost\n"
	for _, s := range services.Items {
		names += fmt.Sprintf("127.0.0.1 %s.%s\n", s.Name, s.Namespace)
	}
	_ = os.WriteFile(n.hosts, []byte(names), 0o644)

	n.mu.Lock()
	defer n.mu.Unlock()
	seen := map[types.UID]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		seen[p.UID] = true
		known, ok := n.pods[p.UID]
		switch {
		case !ok && p.DeletionTimestamp == nil:
			own, cancel := context.WithCancel(ctx)
			known = &pod{node: n, Pod: p, leave: cancel}
			n.pods[p.UID] = known
			n.wg.Go(func() { known.run(own) })
		case ok && p.DeletionTimestamp != nil:
			known.leave()
		}
	}
	for uid, p := range n.pods {
		if !seen[uid] {
			p.leave()
		}
	}
}

// image that a Pod asks for, extracted.
func (n *node) image(ref string) (*runtimeImage, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, ok := n.images[ref]; ok {
		return i, nil
	}
	img, err := n.Registry.Image(ref)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	i := &runtimeImage{root: filepath.Join(n.dir, "images", fmt.Sprint(len(n.images))), config: file.Config}
	if err := container.Extract(img, i.root); err != nil {
		return nil, err
	}
	n.images[ref] = i
	return i, nil
}

// Pods that run at the moment and have a text in their names, oldest first.
func (n *node) Pods(part string) []*pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []*pod
	for _, p := range n.pods {
		if strings.Contains(p.Name, part) && p.Running() {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return out
}

// A tail is the end of what a Pod printed.
type tail struct{ name, tail string }

// Logs of all Pods there ever were.
func (n *node) Logs() []tail {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []tail
	for _, p := range n.pods {
		text := p.Log()
		out = append(out, tail{"log of " + p.Name, text[max(0, len(text)-6<<10):]})
	}
	return out
}

// Python and Ansible of this machine, which images without them are lent.
type lending struct {
	path   string
	mounts []container.Mount
}

var lent = sync.OnceValue(func() lending {
	venv, err := filepath.EvalSymlinks(filepath.Join(root, ".cache", "venv"))
	if err != nil {
		return lending{}
	}
	if venv, err = filepath.Abs(venv); err != nil {
		return lending{}
	}
	l := lending{path: filepath.Join(venv, "bin"), mounts: []container.Mount{
		{Source: "/usr", Target: "/usr", ReadOnly: true},
		{Source: venv, Target: venv, ReadOnly: true},
	}}
	prefix, err := exec.Command(filepath.Join(l.path, "python"), "-c", "import sys; print(sys.base_prefix)").Output()
	if p := strings.TrimSpace(string(prefix)); err == nil && !strings.HasPrefix(p, "/usr") {
		l.mounts = append(l.mounts, container.Mount{Source: p, Target: p, ReadOnly: true})
	}
	for _, f := range []string{"/etc/ld.so.cache", "/etc/ssl", "/etc/alternatives"} {
		if _, err := os.Stat(f); err == nil {
			l.mounts = append(l.mounts, container.Mount{Source: f, Target: f, ReadOnly: true})
		}
	}
	return l
})
