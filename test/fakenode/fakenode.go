// Package fakenode stands in for nodes: it registers Node objects, and plays the kubelet of
// them. Their Pods are scripts, not containers. What reads their status and their logs cannot
// tell, so that thousands of runs in Pods can be measured on one machine: the provider, the
// API server and the scheduler are the real ones.
//
// It differs from a kubelet in this: a container starts at once, there is no other image,
// nothing is mounted, and a log is kept in memory until its Pod is gone, without times.
package fakenode

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

const (
	// maxPods of one node. An API server follows this many logs over one connection.
	maxPods = 110
	// again is the pause before what has failed is tried again.
	again = 50 * time.Millisecond
)

// Nodes of a cluster.
type Nodes struct {
	kube   kubernetes.Interface
	server *httptest.Server
	script Script
	names  []string

	// mu guards the containers, by the UIDs of Pods, and the names of Pods.
	mu   sync.Mutex
	all  map[types.UID]*container
	pods map[types.NamespacedName]types.UID
	errs []error
}

// A Script says what becomes of the runs in the Pods.
type Script struct {
	// Work of a run. It returns whether it has changed anything, and an error when its task has
	// failed. When the Pod is to end the context is done.
	Work func(ctx context.Context, s runner.Spec) (changed bool, err error)
	// Ended is called when a run has ended, before its last report is in the log. It may
	// be nil.
	Ended func(runs.Run)
}

// Start as many nodes as that many Pods need. They do nothing more when the context is done.
func Start(ctx context.Context, cfg *rest.Config, count int, s Script) (*Nodes, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = runtime.ContentTypeProtobuf // As kubelets do.

	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client")
	}
	n := &Nodes{kube: kube, script: s, all: map[types.UID]*container{}, pods: map[types.NamespacedName]types.UID{}}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", n.serveLog)
	n.server = httptest.NewUnstartedServer(mux)
	n.server.EnableHTTP2 = true
	n.server.StartTLS()
	context.AfterFunc(ctx, func() {
		n.server.CloseClientConnections()
		n.server.Close()
	})

	for i := range (count + maxPods - 1) / maxPods {
		if err := n.register(ctx, fmt.Sprintf("fake-%d", i)); err != nil {
			return nil, err
		}
	}

	f := informers.NewSharedInformerFactory(kube, 0)
	_, err = f.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(v any) { n.see(ctx, v) },
		UpdateFunc: func(_, v any) { n.see(ctx, v) },
		DeleteFunc: n.gone,
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot watch Pods")
	}
	f.Start(ctx.Done())
	f.WaitForCacheSync(ctx.Done())
	return n, nil
}

// Remove the nodes from the API server. What they had of Pods is left.
func (n *Nodes) Remove(ctx context.Context) error {
	var errs []error
	for _, name := range n.names {
		errs = append(errs, n.kube.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
	}
	return errors.Wrap(errors.Join(errs...), "cannot remove nodes")
}

// Err is what went wrong so far.
func (n *Nodes) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.errs...)
}

// register a node with the server as its kubelet.
func (n *Nodes) register(ctx context.Context, name string) error {
	host, port, err := net.SplitHostPort(n.server.Listener.Addr().String())
	if err != nil {
		return errors.Wrap(err, "cannot tell the address of the server")
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return errors.Wrap(err, "cannot tell the port of the server")
	}
	node, err := n.kube.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil {
		return errors.Wrap(err, "cannot register a node")
	}
	// The API server has given it the taint of a node that is not ready.
	node.Spec.Taints = nil
	if node, err = n.kube.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return errors.Wrap(err, "cannot register a node")
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods: *resource.NewQuantity(maxPods, resource.DecimalSI),
	}
	node.Status = corev1.NodeStatus{
		Capacity: room, Allocatable: room,
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(number)}},
		Conditions:      []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Scripted"}},
	}
	if _, err = n.kube.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return errors.Wrap(err, "cannot register a node")
	}
	n.names = append(n.names, name)
	return nil
}

// A container of a Pod.
type container struct {
	*log

	// stop the container. Ended is closed once it has ended.
	stop  context.CancelFunc
	ended chan struct{}
}

// see a Pod: begin it when it is new here, and end and remove it when it is to end.
func (n *Nodes) see(ctx context.Context, v any) {
	p, ok := v.(*corev1.Pod)
	if !ok || p.Spec.NodeName == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()

	c, known := n.all[p.UID]
	switch {
	case p.DeletionTimestamp != nil:
		go func() {
			if known {
				c.stop()
				<-c.ended
			}
			n.note(n.remove(ctx, p))
		}()
	case !known && p.Status.Phase == corev1.PodPending:
		ctx, stop := context.WithCancel(ctx)
		c = &container{log: newLog(), stop: stop, ended: make(chan struct{})}
		n.all[p.UID], n.pods[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = c, p.UID
		go func() {
			defer close(c.ended)
			n.note(n.run(ctx, p, c.log))
		}()
	}
}

// gone ends the script and the log of a Pod, and forgets it. One that was deleted by force may be at work.
func (n *Nodes) gone(v any) {
	if last, ok := v.(cache.DeletedFinalStateUnknown); ok {
		v = last.Obj
	}
	p, ok := v.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if c, known := n.all[p.UID]; known {
		c.stop()
		c.close()
	}
	delete(n.all, p.UID)
	delete(n.pods, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
}

func (n *Nodes) note(err error) {
	if err == nil || errors.Is(err, context.Canceled) || kerrors.IsNotFound(err) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errs = append(n.errs, err)
}

// insist on something for as long as there is a Pod that it is about: the API server may be away.
func insist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || kerrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

// remove a Pod that is to end. Nothing of it runs.
func (n *Nodes) remove(ctx context.Context, p *corev1.Pod) error {
	now := metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)),
		Preconditions:      metav1.NewUIDPreconditions(string(p.UID)),
	}
	return insist(ctx, func() error {
		err := n.kube.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, now)
		if kerrors.IsConflict(err) {
			return nil // It is gone, and another one has its name.
		}
		return err
	})
}

// run the script of a Pod. Also of one that was told to end the end is shown, as a kubelet does before it
// removes the Pod.
func (n *Nodes) run(ctx context.Context, p *corev1.Pod, l *log) error {
	began, phase, err := n.carryOut(ctx, p, l)
	l.close()
	t := &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: began, FinishedAt: metav1.Now()}
	ended := corev1.PodSucceeded
	if phase != common.PhaseSucceeded {
		t.Reason, t.ExitCode, ended = "Error", 1, corev1.PodFailed
	}
	return errors.Join(err, n.show(context.WithoutCancel(ctx), p, ended, corev1.ContainerState{Terminated: t}))
}

// carryOut the script of a Pod. The time is that of the start of its container, zero if it has none.
func (n *Nodes) carryOut(ctx context.Context, p *corev1.Pod, l *log) (metav1.Time, common.RunPhase, error) {
	payload, err := n.payload(ctx, p)
	if err != nil {
		return metav1.Time{}, "", err
	}
	began := metav1.Now()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
	if err := n.show(ctx, p, corev1.PodRunning, running); err != nil {
		return began, "", err
	}
	phase, err := n.work(ctx, payload, l)
	return began, phase, err
}

// payload of a Pod, once its Secrets are there. A kubelet would mount them. It is nil for a Pod that mounts nothing,
// and is no run of the provider.
func (n *Nodes) payload(ctx context.Context, p *corev1.Pod) (*pods.Payload, error) {
	if len(p.Spec.Volumes) == 0 {
		return nil, nil //nolint:nilnil // That is no error.
	}
	files := fstest.MapFS{}
	for _, v := range p.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				for _, item := range source.DownwardAPI.Items {
					files[item.Path] = &fstest.MapFile{Data: []byte(p.UID)}
				}
			}
			if source.Secret == nil {
				continue
			}
			s, err := n.secret(ctx, types.NamespacedName{Namespace: p.Namespace, Name: source.Secret.Name})
			if err != nil {
				return nil, err
			}
			for k, data := range s.Data {
				files[k] = &fstest.MapFile{Data: data}
			}
		}
	}
	payload, err := pods.ReadPayload(files)
	return &payload, err
}

func (n *Nodes) secret(ctx context.Context, name types.NamespacedName) (s *corev1.Secret, err error) {
	for {
		err = insist(ctx, func() error {
			s, err = n.kube.CoreV1().Secrets(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
			return err
		})
		if !kerrors.IsNotFound(err) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(again):
		}
	}
}

// show the state of a Pod and its container.
func (n *Nodes) show(ctx context.Context, p *corev1.Pod, phase corev1.PodPhase, s corev1.ContainerState) error {
	return insist(ctx, func() error {
		now, err := n.kube.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
		if err != nil || now.UID != p.UID {
			return err
		}
		now.Status.Phase = phase
		now.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: p.Spec.Containers[0].Name, State: s, Ready: s.Running != nil, Image: p.Spec.Containers[0].Image},
		}
		_, err = n.kube.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{})
		return err
	})
}

// work as the command work of provider-ansible does, with a runner that follows the script.
func (n *Nodes) work(ctx context.Context, p *pods.Payload, l *log) (common.RunPhase, error) {
	if p == nil {
		_, err := n.script.Work(ctx, runner.Spec{})
		return common.PhaseSucceeded, err
	}
	w, err := sealed.NewWriter(l, p.Key, p.Spec.ID, p.Pod)
	if err != nil {
		return "", err
	}
	j := runs.Run{Spec: p.Spec, Request: p.Request}
	report := executor.NewLocal(nothing{}, n.script).Execute(ctx, j, runs.Watch{
		Progress: func(r runs.Report) { n.note(w.Write(sealed.Frame{Report: r})) },
	})
	if n.script.Ended != nil {
		n.script.Ended(j)
	}
	return report.Run.Phase, w.Write(sealed.Frame{Report: report, Final: true})
}
