package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// NodeName is what the node is called.
const NodeName = "node"

const (
	dirNode = "node"

	// Images of programs of the stack: the node's own, which every Pod starts with, and
	// Crossplane.
	imagePause = "docker.io/crossplane-ansible/pause:dev"
	imageCore  = "docker.io/crossplane-ansible/crossplane:dev"

	fileDNS        = "Corefile"
	fileContainerd = "containerd.toml"
	fileKubelet    = "kubelet.yaml"
	dirNetworks    = "networks"
)

// isNode says whether a piece is part of the node.
func isNode(name string) bool {
	return slices.Contains([]string{nameScheduler, nameNode, nameDNS, nameContainerd, nameKubelet}, name)
}

// CheckNode says what keeps this machine, or this user, from running a node. It is
// nil if nothing does.
func CheckNode() error {
	var errs []error
	if os.Geteuid() != 0 {
		errs = append(errs, errors.New("only root may run containers"))
	}
	for _, p := range []struct{ program, in string }{{"runc", "runc"}, {"ip", "iproute2"}, {"nsenter", "util-linux"}} {
		if _, err := lookPath(p.program); err != nil {
			errs = append(errs, errors.Errorf("there is no %s, which Debian has in its package %s", p.program, p.in))
		}
	}
	if fs, err := os.ReadFile("/proc/filesystems"); err != nil || !strings.Contains(string(fs), "\toverlay\n") {
		// A module that was not used yet is not in the list.
		if exec.Command("modprobe", "overlay").Run() != nil { //nolint:noctx // It is over at once.
			errs = append(errs, errors.New("the kernel has no overlay file system"))
		}
	}
	if len(hierarchies()) == 0 {
		errs = append(errs, errors.Errorf("there are no control groups in %s", cgroups))
	}
	return errors.Wrap(errors.Join(errs...), "cannot run a node")
}

// lookPath of a program that may be one for administrators.
func lookPath(program string) (string, error) {
	for _, dir := range []string{"", "/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", errors.Errorf("cannot find %s", program)
}

// HasNode says whether the stack has a node that runs Pods.
func (s *Stack) HasNode() bool { return s.opts.Node }

// InPods says whether runs have Pods if their configuration does not say so.
func (s *Stack) InPods() bool { return s.opts.Place == common.PlacePod }

// link is the name of the stack's bridge and of the control group of its Pods.
func (s *Stack) link() string { return "node" + strconv.Itoa(s.ports[nameKubelet]) }

// network of the stack, which no other stack on this machine has.
func (s *Stack) network() netip.Prefix {
	// 1024 addresses for each port there may be.
	n := 64<<16 + (s.ports[nameKubelet]-portFirst)<<10
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), 0}), 22) //nolint:gosec // They are bytes.
}

// services is the first quarter of the network. There is no route to it; but Pods look for the API server at its
// first address, and the API server is there.
func (s *Stack) services() netip.Prefix { return netip.PrefixFrom(s.network().Addr(), 24) }

// Address of this machine that Pods reach it by. It is on no other network.
func (s *Stack) Address() string { return s.services().Addr().Next().String() }

// nodeSteps on the way up, after the API server.
func (s *Stack) nodeSteps() []step {
	return []step{
		{nameScheduler, s.ensure(s.scheduler)},
		{nameNode, s.hold},
		{nameDNS, s.ensure(s.dns)},
		{nameContainerd, s.ensure(s.containerd)},
		{"pause image", s.importPause},
		{nameKubelet, s.ensure(s.Kubelet)},
	}
}

func (s *Stack) scheduler(context.Context) (*Piece, error) {
	return s.piece(nameScheduler, func(context.Context) error { return nil }, nil,
		"--kubeconfig="+s.path(dirKubernetes, fileKubeconfig),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	), nil
}

// hold the network and the mount namespace of the node.
func (s *Stack) hold(ctx context.Context) (outcome, error) {
	if err := CheckNode(); err != nil {
		return "", err
	}
	p := s.holder()
	running, err := p.Running()
	if err != nil {
		return "", err
	}
	if !running {
		if err := s.clear(ctx); err != nil {
			return "", err
		}
	}
	if err := s.connect(ctx); err != nil {
		return "", err
	}
	for _, h := range hierarchies() {
		group := filepath.Join(h, s.link())
		if err := os.MkdirAll(group, 0o755); err != nil { //nolint:gosec // As others are.
			return "", errors.Wrap(err, "cannot make control group")
		}
		// Where processes are in no group, all Pods together would have the share of one of them.
		shares := filepath.Join(group, "cpu.shares")
		if _, err := os.Stat(shares); err != nil {
			continue
		}
		if err := os.WriteFile(shares, []byte("8192"), 0o600); err != nil {
			return "", errors.Wrap(err, "cannot set the share of the node")
		}
	}
	return p.ensure(ctx)
}

func (s *Stack) holder() *Piece {
	args := []string{"hold", s.path(dirNode), s.Address(), loopback(s.ports[nameAPIServer])}
	if !s.opts.Packages { // Their tests are about the rights of other users.
		args = append(args, s.SharedDir())
	}
	p := s.piece(nameNode, accepts("tcp", net.JoinHostPort(s.Address(), "443")), nil, args...)
	p.apart = true
	return p
}

// dns resolves the names of Services as the addresses of their Pods, if the Services ask for no address of their own:
// no proxy relays from such an address.
func (s *Stack) dns(context.Context) (*Piece, error) {
	config := fmt.Appendf(nil, dnsConfig, s.Address(), s.path(dirKubernetes, fileKubeconfig))
	if err := writeFiles(s.path(dirNode), map[string][]byte{fileDNS: config}); err != nil {
		return nil, err
	}
	return s.piece(nameDNS, accepts("tcp", net.JoinHostPort(s.Address(), "53")), nil,
		"-conf="+s.path(dirNode, fileDNS)), nil
}

const dnsConfig = `.:53 {
  bind %s
  errors
  kubernetes cluster.local {
    kubeconfig %s
  }
}
`

// connect this machine to the network of the node.
func (s *Stack) connect(ctx context.Context) error {
	if s.connected() {
		return nil
	}
	for _, args := range [][]string{
		{"link", "add", s.link(), "address", s.hardware(), "type", "bridge"},
		{"address", "add", s.Address() + "/22", "dev", s.link()},
		{"link", "set", s.link(), "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// hardware is the hardware address of the bridge. Without one of its own it would have the lowest of the Pods that
// are there, and Pods that know the one before would not reach this machine for a while.
func (s *Stack) hardware() string {
	return net.HardwareAddr(append([]byte{0x02, 0x00}, s.services().Addr().Next().AsSlice()...)).String()
}

func ip(ctx context.Context, args ...string) error {
	path, err := lookPath("ip")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	return errors.Wrapf(err, "ip %s: %s", strings.Join(args, " "), out)
}

// inNode has a piece run in the namespace of the node.
func (s *Stack) inNode(p *Piece) (*Piece, error) {
	ns, err := s.inside("ns", "mnt")
	if err != nil {
		return nil, err
	}
	p.within = []string{"nsenter", "--mount=" + ns, "--"}
	return p, nil
}

// inside is a path below that of the process that holds the node in proc(5).
func (s *Stack) inside(elem ...string) (string, error) {
	mains, err := s.holder().mains()
	if err != nil {
		return "", err
	}
	if len(mains) == 0 {
		return "", errors.New("there is no node")
	}
	return filepath.Join(append([]string{"/proc", strconv.Itoa(mains[0].Pid)}, elem...)...), nil
}

// containerd pulls images and runs containers, which are connected by a bridge to
// each other and to this machine, and to nothing else.
func (s *Stack) containerd(context.Context) (*Piece, error) {
	runc, err := lookPath("runc")
	if err != nil {
		return nil, err
	}
	socket, err := s.inside("root", "run", "containerd", "containerd.sock")
	if err != nil {
		return nil, err
	}
	// The Pods' addresses are what the services have left of the network.
	first := s.services().Addr()
	for s.services().Contains(first) {
		first = first.Next()
	}
	networks := s.path(dirNode, dirNetworks)
	err = errors.Join(
		writeFiles(s.path(dirNode),
			map[string][]byte{fileContainerd: fmt.Appendf(nil, containerdConfig, imagePause, s.bin("cni"), networks, runc)}),
		writeFiles(networks,
			map[string][]byte{"10-bridge.conflist": fmt.Appendf(nil, bridgeConfig, s.link(), s.network(), first)}),
	)
	if err != nil {
		return nil, err
	}
	// Its shim is looked for in the PATH.
	path := filepath.Dir(s.bin(nameContainerd)) + string(os.PathListSeparator) + os.Getenv("PATH")
	return s.inNode(s.piece(nameContainerd, accepts("unix", socket), []string{"PATH=" + path},
		"--config="+s.path(dirNode, fileContainerd)))
}

const containerdConfig = `version = 3
disabled_plugins = ['io.containerd.nri.v1.nri']

[plugins.'io.containerd.internal.v1.opt']
path = '/var/lib/containerd/opt'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '%s'

[plugins.'io.containerd.cri.v1.runtime']
disable_apparmor = true
# Not every root may lower a score.
restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['%s']
conf_dir = '%s'
use_internal_loopback = true

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = '%s'
`

const bridgeConfig = `{
  "cniVersion": "1.0.0",
  "name": "bridge",
  "plugins": [{
    "type": "bridge",
    "bridge": "%s",
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "%s", "rangeStart": "%s"}]]}
  }]
}
`

func (s *Stack) importPause(ctx context.Context) (outcome, error) {
	return outcomeRunning, s.ImportProgram(ctx, imagePause, s.bin(nameNode), "pause")
}

// Kubelet runs what is scheduled to the node.
func (s *Stack) Kubelet(context.Context) (*Piece, error) {
	err := writeFiles(s.path(dirNode), map[string][]byte{
		fileKubelet: fmt.Appendf(nil, kubeletConfig, s.Address(), s.ports[nameKubelet],
			s.path(dirKubernetes, fileCA), s.link()),
	})
	if err != nil {
		return nil, err
	}
	return s.inNode(s.piece(nameKubelet, serves("http://"+loopback(s.ports[nameKubelet])+"/healthz"), nil,
		"--config="+s.path(dirNode, fileKubelet),
		"--kubeconfig="+s.path(dirKubernetes, fileKubeconfig),
		"--hostname-override="+NodeName,
		"--node-ip="+s.Address(),
		// Otherwise nothing is evicted when this node is gone, since all nodes are.
		"--node-labels=node.kubernetes.io/exclude-disruption=true",
	))
}

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
port: %[2]d
healthzBindAddress: 127.0.0.1
healthzPort: %[2]d
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: %[3]q}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
containerLogMaxSize: 1Mi
containerLogMonitorInterval: 3s
cgroupDriver: cgroupfs
cgroupRoot: /%[4]s
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
clusterDNS: [%[1]s]
clusterDomain: cluster.local
resolvConf: ""
serializeImagePulls: false
# The disk is the machine's, which others fill.
evictionHard: {memory.available: 100Mi}
imageGCHighThresholdPercent: 100
`

// nodeReady waits until Pods can be scheduled to the node.
func (s *Stack) nodeReady(ctx context.Context) (outcome, error) {
	c, err := s.Client()
	if err != nil {
		return "", err
	}
	node := &corev1.Node{}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, startup, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, types.NamespacedName{Name: NodeName}, node)
		ready := len(node.Spec.Taints) == 0 && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		return ready, client.IgnoreNotFound(err)
	})
	return outcomeRunning, errors.Wrapf(err, "the node is not ready, its conditions are %v", node.Status.Conditions)
}

// clear what an earlier node has left, which runs in another namespace.
func (s *Stack) clear(ctx context.Context) error {
	for _, n := range []string{nameKubelet, nameContainerd} {
		if n == nameContainerd {
			if err := s.endPods(ctx); err != nil {
				return err
			}
		}
		if err := (&Piece{Name: n, stack: s.opts.Dir}).Stop(ctx); err != nil {
			return err
		}
	}
	return errors.Wrap(os.RemoveAll(s.path(dirNode)), "cannot remove the data of the node")
}

// disconnect this machine from the network of the node.
func (s *Stack) disconnect(ctx context.Context) error {
	if !s.connected() {
		return nil
	}
	return ip(ctx, "link", "delete", s.link())
}

// connected says whether this machine is part of the network of the node.
func (s *Stack) connected() bool {
	_, err := os.Stat(filepath.Join("/sys/class/net", s.link()))
	return err == nil
}
