package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/certs"
)

const (
	dirProvider     = "provider"
	filePodTemplate = "pod.yaml"
)

// installProvider as the package manager does: its API, and an account with the
// rights of a provider.
func (s *Stack) installProvider(ctx context.Context) (outcome, error) {
	c, err := s.Client()
	if err != nil {
		return "", err
	}
	crds, err := s.installCRDs(filepath.Join(s.opts.Root, "package-provider", "crds"))
	if err != nil {
		return "", err
	}
	if err := s.grant(ctx, c, crds); err != nil {
		return "", err
	}
	file := s.path(dirProvider, fileKubeconfig)
	if _, err := os.Stat(file); err == nil {
		return outcomeRunning, nil
	}
	req := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(certs.Validity / time.Second))},
	}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: nameProvider}}
	if err := c.SubResource("token").Create(ctx, sa, req); err != nil {
		return "", errors.Wrap(err, "cannot get a token for the provider")
	}
	cfg, err := s.Config()
	if err != nil {
		return "", err
	}
	kubeconfig, err := s.kubeconfig(cfg.CAData, nameProvider, req.Status.Token)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.path(dirProvider, "home"), 0o700); err != nil {
		return "", errors.Wrap(err, "cannot make a home for the provider")
	}
	return outcomeStarted, writeFiles(s.path(dirProvider), map[string][]byte{
		fileKubeconfig:  kubeconfig,
		filePodTemplate: fmt.Appendf(nil, podTemplate, s.SharedDir()),
	})
}

// podTemplate has Pods share a directory with this machine. A node has room for many of them.
const podTemplate = `spec:
  containers:
  - name: run
    resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 1Gi}}
    volumeMounts: [{name: shared, mountPath: %[1]q}]
  volumes:
  - name: shared
    hostPath: {path: %[1]q}
`

// grant a service account for the provider the rights that Crossplane's RBAC
// manager gives to a provider that can start safely, no more.
func (s *Stack) grant(ctx context.Context, c client.Client, own []*apiextensionsv1.CustomResourceDefinition) error {
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: nameProvider}}
	if err := client.IgnoreAlreadyExists(c.Create(ctx, sa)); err != nil {
		return errors.Wrap(err, "cannot create service account")
	}
	rules := []rbacv1.PolicyRule{{
		APIGroups: []string{"", "coordination.k8s.io"},
		Resources: []string{"secrets", "configmaps", "events", "leases"},
		Verbs:     []string{rbacv1.VerbAll},
	}, {
		APIGroups: []string{"apiextensions.k8s.io"},
		Resources: []string{"customresourcedefinitions"},
		Verbs:     []string{"get", "list", "watch"},
	}}
	for _, crd := range own {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{crd.Spec.Group},
			Resources: []string{crd.Spec.Names.Plural, crd.Spec.Names.Plural + "/status"},
			Verbs:     []string{"get", "list", "watch", "update", "patch", "create"},
		}, rbacv1.PolicyRule{
			APIGroups: []string{crd.Spec.Group},
			Resources: []string{"*/finalizers"},
			Verbs:     []string{"update"},
		})
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "crossplane:provider:" + nameProvider + ":system"}}
	_, err := controllerutil.CreateOrUpdate(ctx, c, role, func() error {
		role.Rules = rules
		return nil
	})
	if err != nil {
		return errors.Wrap(err, "cannot create cluster role")
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: sa.Namespace, Name: sa.Name}},
	}
	return errors.Wrap(client.IgnoreAlreadyExists(c.Create(ctx, binding)), "cannot bind cluster role")
}

// provider is provider-ansible with the flags of the stack's options.
func (s *Stack) provider(context.Context) (*Piece, error) {
	return s.Provider(s.opts.ProviderFlags...), nil
}

// AllowPods gives the provider the rights to run Pods, in a namespace or, if that is empty, in all of the cluster.
func (s *Stack) AllowPods(ctx context.Context, namespace string) error {
	return s.allow(ctx, "pods.yaml", namespace)
}

// RevokePods takes back the rights to run Pods in all of the cluster, which other tests of this stack gave.
func (s *Stack) RevokePods(ctx context.Context) error {
	c, err := s.Client()
	if err != nil {
		return err
	}
	role, err := s.role("pods.yaml")
	if err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}}
	return errors.Wrap(client.IgnoreNotFound(c.Delete(ctx, binding)), "cannot remove the binding of the role")
}

// role in a file of the examples.
func (s *Stack) role(file string) (*rbacv1.ClusterRole, error) {
	text, err := os.ReadFile(filepath.Join(s.opts.Root, "examples", "operations", file))
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the role")
	}
	role := &rbacv1.ClusterRole{}
	return role, errors.Wrap(yaml.UnmarshalStrict(text, role), "cannot read the role")
}

// AllowTokens gives the provider the right to request tokens of the service accounts in a namespace.
func (s *Stack) AllowTokens(ctx context.Context, namespace string) error {
	return s.allow(ctx, "tokens.yaml", namespace)
}

// allow the provider what a role of the examples has, in a namespace or, if that is empty, in all of the cluster.
func (s *Stack) allow(ctx context.Context, file, namespace string) error {
	c, err := s.Client()
	if err != nil {
		return err
	}
	role, err := s.role(file)
	if err != nil {
		return err
	}
	if err := client.IgnoreAlreadyExists(c.Create(ctx, role)); err != nil {
		return errors.Wrap(err, "cannot create the role")
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: nameProvider}}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: role.Name}
	var binding client.Object = &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	if namespace == "" {
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	return errors.Wrap(client.IgnoreAlreadyExists(c.Create(ctx, binding)), "cannot bind the role")
}

// Provider is provider-ansible with the given flags, in the form --name=value,
// on top of those that it needs here, or instead of them. The stack must be up;
// its API is what the package manager would have installed. Its runs may write
// to the shared directory.
func (s *Stack) Provider(flags ...string) *Piece {
	own := []string{"--write-path=" + s.SharedDir()}
	if s.opts.Node {
		// It is not in a Pod that could tell.
		own = append(own, "--pod-image="+ProviderImage)
	}
	if s.InPods() {
		own = append(own, "--place=Pod", "--pod-template="+s.path(dirProvider, filePodTemplate))
	}
	return s.Replica(Replica{
		Name:       nameProvider,
		StateDir:   s.StateDir(),
		Health:     loopback(s.ports[nameProvider]),
		Metrics:    loopback(s.ports[portProviderMetrics]),
		Kubeconfig: s.ProviderKubeconfig(),
	}, append(own, flags...)...)
}

// A Replica of provider-ansible: what no two may share.
type Replica struct {
	// Name of the piece, and of its log.
	Name string
	// StateDir is where it keeps content and runs in progress.
	StateDir string
	// Health and Metrics are the addresses that it serves these on.
	Health, Metrics string
	// Kubeconfig of the provider.
	Kubeconfig string
	// Env is added to its environment.
	Env []string
	// Ready overrides the path below Health that says that it is ready.
	Ready string
}

// Replica of provider-ansible, with flags as for Provider.
func (s *Stack) Replica(r Replica, flags ...string) *Piece {
	args := []string{
		"start",
		"--debug",                 // Its log explains a test that fails.
		"--leader-election=false", // It is killed too often to wait for its lease.
		"--namespace=" + Namespace,
		"--state-dir=" + r.StateDir,
		"--health-probe-bind-address=" + r.Health,
		"--metrics-bind-address=" + r.Metrics,
	}
	name := func(flag string) string {
		n, _, _ := strings.Cut(flag, "=")
		return n
	}
	args = slices.DeleteFunc(args, func(a string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return name(f) == name(a) })
	})
	if r.Ready == "" {
		r.Ready = "/readyz"
	}
	p := s.piece(r.Name, serves("http://"+r.Health+r.Ready), append([]string{
		"KUBECONFIG=" + r.Kubeconfig,
		"HOME=" + s.path(dirProvider, "home"),
		"PATH=" + s.VirtualEnv() + string(os.PathListSeparator) + os.Getenv("PATH"),
	}, r.Env...), append(args, flags...)...)
	p.path = s.bin(nameProvider)
	return p
}

// installCRDs from the files in a directory, and wait until what they define is
// served.
func (s *Stack) installCRDs(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	cfg, err := s.Config()
	if err != nil {
		return nil, err
	}
	crds, err := envtest.InstallCRDs(cfg,
		envtest.CRDInstallOptions{Paths: []string{dir}, ErrorIfPathMissing: true, MaxTime: startup})
	return crds, errors.Wrapf(err, "cannot install what is in %q", dir)
}

// SharedDir is where all plays may write, and tests look.
func (s *Stack) SharedDir() string {
	return s.path("shared")
}

// StateDir is where the provider keeps content and runs in progress.
func (s *Stack) StateDir() string {
	return s.path(dirProvider, "state")
}

// ProviderKubeconfig is the kubeconfig of the provider's account.
func (s *Stack) ProviderKubeconfig() string {
	return s.path(dirProvider, fileKubeconfig)
}

// ProviderMetrics is where the provider serves its metrics.
func (s *Stack) ProviderMetrics() string {
	return "http://" + loopback(s.ports[portProviderMetrics]) + "/metrics"
}
