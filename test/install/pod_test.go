package install

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/container"
)

// A pod runs the only container of a Pod, again and again, until it is told to
// leave.
type pod struct {
	*corev1.Pod

	node  *node
	leave context.CancelFunc

	mu       sync.Mutex
	running  *container.Container
	restarts int32
	err      error
}

// Running says whether the container is there.
func (p *pod) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running != nil
}

// Restarts of the container, and why the last attempt failed.
func (p *pod) Restarts() (int32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts, p.err
}

// Log of the container.
func (p *pod) Log() string {
	b, _ := os.ReadFile(p.log())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return fmt.Sprintf("%s%s\n", b, p.err)
	}
	return string(b)
}

// Get a URL from within the container.
func (p *pod) Get(url string) (*http.Response, error) {
	p.mu.Lock()
	c := p.running
	p.mu.Unlock()
	if c == nil {
		return nil, errors.New("the container does not run")
	}
	t := &http.Transport{DisableKeepAlives: true, DialContext: container.Dialer(c.Pid())}
	return (&http.Client{Transport: t, Timeout: 5 * time.Second}).Get(url)
}

func (p *pod) log() string { return filepath.Join(p.node.dir, string(p.UID)+".log") }

// run the container until the context is done, and stop it then.
func (p *pod) run(ctx context.Context) {
	if err := p.bind(ctx); err != nil {
		p.failed(err)
		return
	}
	for pause := 500 * time.Millisecond; ; pause *= 2 {
		err := p.attempt(ctx)
		if ctx.Err() != nil {
			break
		}
		p.failed(err)
		select {
		case <-ctx.Done():
		case <-time.After(min(pause, 10*time.Second)):
		}
	}
	// Unless all of the node ends, the Pod is one that was told to.
	_ = p.node.kube.Delete(context.Background(), p.DeepCopy(), client.GracePeriodSeconds(0), client.Preconditions{UID: &p.UID})
}

func (p *pod) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restarts++
	p.err = err
}

// bind the Pod to this node. One that is bound to none goes without any grace.
func (p *pod) bind(ctx context.Context) error {
	b := &corev1.Binding{ObjectMeta: p.ObjectMeta, Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	return p.node.kube.SubResource("binding").Create(ctx, p.DeepCopy(), b)
}

// attempt to run the container, and return how it ended.
func (p *pod) attempt(ctx context.Context) error {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	spec, err := p.spec(ctx)
	if err != nil {
		return err
	}
	network := &container.Network{}
	defer network.Close()
	spec.Output = log
	spec.Connect = func(pid int) error {
		u, err := url.Parse(p.node.api.Host)
		if err != nil {
			return err
		}
		return network.Reach(pid, u.Host)
	}
	c, err := container.Start(spec)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.running = c
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.running = nil
		p.mu.Unlock()
	}()

	p.serve(ctx, network, c)
	select {
	case <-c.Ended():
		return errors.Errorf("the container has ended: %v", c.Err())
	case <-ctx.Done():
		c.Stop(time.Duration(*p.Spec.TerminationGracePeriodSeconds) * time.Second)
		return ctx.Err()
	}
}

// serve the ports of functions, which are called, and report when the Pod is ready.
func (p *pod) serve(ctx context.Context, network *container.Network, c *container.Container) {
	over := func() bool {
		select {
		case <-c.Ended():
			return true
		default:
			return ctx.Err() != nil
		}
	}
	do := func(attempt func() error) {
		for !over() && attempt() != nil {
			time.Sleep(interval)
		}
	}
	for _, port := range p.container().Ports {
		if port.Name == "grpc" {
			address := fmt.Sprintf("127.0.0.1:%d", port.ContainerPort)
			// Another one may serve until it has left.
			go do(func() error { return network.Expose(c.Pid(), address, address) })
		}
	}
	go func() {
		do(p.probe)
		do(func() error { return p.report(ctx) })
	}()
}

// probe whether the container is ready, if it says how.
func (p *pod) probe() error {
	probe := p.container().ReadinessProbe
	if probe == nil {
		return nil
	}
	port := probe.HTTPGet.Port.String()
	for _, named := range p.container().Ports {
		if named.Name == port {
			port = fmt.Sprint(named.ContainerPort)
		}
	}
	rsp, err := p.Get("http://127.0.0.1:" + port + probe.HTTPGet.Path)
	if err != nil {
		return err
	}
	defer rsp.Body.Close()
	if rsp.StatusCode != http.StatusOK {
		return errors.New(rsp.Status)
	}
	return nil
}

// report that the Pod is ready.
func (p *pod) report(ctx context.Context) error {
	live := &corev1.Pod{}
	if err := p.node.kube.Get(ctx, client.ObjectKeyFromObject(p.Pod), live); err != nil {
		return err
	}
	live.Status.Phase = corev1.PodRunning
	live.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	return p.node.kube.Status().Update(ctx, live)
}

func (p *pod) container() *corev1.Container { return &p.Spec.Containers[0] }

// spec of the container.
func (p *pod) spec(ctx context.Context) (container.Spec, error) {
	c := p.container()
	img, err := p.node.image(c.Image)
	if err != nil {
		return container.Spec{}, err
	}
	security := c.SecurityContext
	s := container.Spec{
		Root:     img.root,
		ReadOnly: security.ReadOnlyRootFilesystem != nil && *security.ReadOnlyRootFilesystem,
		Argv:     append(slices.Clone(img.config.Entrypoint), img.config.Cmd...),
		Dir:      cmp.Or(img.config.WorkingDir, "/"),
		User:     int(*security.RunAsUser),
		Group:    int(*security.RunAsGroup),
	}
	if len(c.Command) > 0 {
		s.Argv = slices.Clone(c.Command)
	}
	if len(c.Args) > 0 && len(c.Command) == 0 {
		s.Argv = append(slices.Clone(img.config.Entrypoint), c.Args...)
	}
	if s.Env, err = p.env(img.config.Env); err != nil {
		return s, err
	}
	for _, m := range c.VolumeMounts {
		i := slices.IndexFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		dir, err := p.volume(ctx, p.Spec.Volumes[i])
		if err != nil {
			return s, err
		}
		s.Mounts = append(s.Mounts, container.Mount{Source: filepath.Join(dir, m.SubPath), Target: m.MountPath, ReadOnly: m.ReadOnly})
	}
	// What is lent may be below a volume, such as /tmp.
	if slices.ContainsFunc(img.config.Env, func(e string) bool { return strings.HasPrefix(e, "PATH="+lent().path) }) {
		s.Mounts = append(s.Mounts, lent().mounts...)
	}
	return s, nil
}

// env of the container: the image's, the Pod's, and where the API server is.
func (p *pod) env(image []string) ([]string, error) {
	u, err := url.Parse(p.node.api.Host)
	if err != nil {
		return nil, err
	}
	env := append(slices.Clone(image), "KUBERNETES_SERVICE_HOST="+u.Hostname(), "KUBERNETES_SERVICE_PORT="+u.Port())
	known := map[string]string{"KUBERNETES_SERVICE_HOST": u.Hostname(), "KUBERNETES_SERVICE_PORT": u.Port()}
	for _, e := range p.container().Env {
		value := e.Value
		if e.ValueFrom != nil {
			switch path := e.ValueFrom.FieldRef.FieldPath; {
			case path == "metadata.namespace":
				value = p.Namespace
			case strings.HasPrefix(path, "metadata.labels['"):
				value = p.Labels[strings.TrimSuffix(strings.TrimPrefix(path, "metadata.labels['"), "']")]
			default:
				return nil, errors.Errorf("the node does not know %q", path)
			}
		}
		value = regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(value, func(ref string) string {
			if v, ok := known[ref[2:len(ref)-1]]; ok {
				return v
			}
			return ref
		})
		known[e.Name] = value
		env = append(env, e.Name+"="+value)
	}
	return env, nil
}

// volume of the Pod, as a directory of this machine.
func (p *pod) volume(ctx context.Context, v corev1.Volume) (string, error) {
	dir := filepath.Join(p.node.dir, "pods", string(p.UID), v.Name)
	switch {
	case v.HostPath != nil:
		return v.HostPath.Path, nil
	case v.PersistentVolumeClaim != nil:
		dir = filepath.Join(p.node.dir, "volumes", v.PersistentVolumeClaim.ClaimName)
		return dir, open(dir)
	case v.EmptyDir != nil:
		return dir, open(dir)
	case v.Secret != nil:
		secret := &corev1.Secret{}
		if err := p.node.kube.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: v.Secret.SecretName}, secret); err != nil {
			return "", err
		}
		return dir, files(dir, secret.Data)
	case v.ConfigMap != nil:
		data, err := p.configMap(ctx, v.ConfigMap.Name)
		if err != nil {
			return "", err
		}
		return dir, files(dir, data)
	case v.Projected != nil:
		data, err := p.projected(ctx, v.Projected.Sources)
		if err != nil {
			return "", err
		}
		return dir, files(dir, data)
	}
	return "", errors.Errorf("the node does not know volumes like %q", v.Name)
}

func (p *pod) configMap(ctx context.Context, name string) (map[string][]byte, error) {
	cm := &corev1.ConfigMap{}
	if err := p.node.kube.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: name}, cm); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for k, v := range cm.Data {
		data[k] = []byte(v)
	}
	return data, nil
}

// projected volumes have the token of the service account.
func (p *pod) projected(ctx context.Context, sources []corev1.VolumeProjection) (map[string][]byte, error) {
	data := map[string][]byte{"namespace": []byte(p.Namespace)}
	for _, s := range sources {
		switch {
		case s.ServiceAccountToken != nil:
			req := &authenticationv1.TokenRequest{}
			sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Spec.ServiceAccountName}}
			if err := p.node.kube.SubResource("token").Create(ctx, sa, req); err != nil {
				return nil, err
			}
			data[s.ServiceAccountToken.Path] = []byte(req.Status.Token)
		case s.ConfigMap != nil:
			cm, err := p.configMap(ctx, s.ConfigMap.Name)
			if err != nil {
				return nil, err
			}
			for _, item := range s.ConfigMap.Items {
				data[item.Path] = cm[item.Key]
			}
		}
	}
	return data, nil
}

// open directory, which everybody may write to.
func open(dir string) error {
	return errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o777))
}

// files in a directory, which everybody may read.
func files(dir string, data map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, b := range data {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
