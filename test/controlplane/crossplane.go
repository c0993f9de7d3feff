package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	pkgv1 "github.com/crossplane/crossplane/apis/v2/pkg/v1"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/certs"
)

// Namespace of Crossplane and everything that belongs to it.
const Namespace = "crossplane-system"

// Where core finds its certificates.
const (
	secretCA     = "crossplane-root-ca"
	secretClient = "crossplane-tls-client"

	dirCore     = "crossplane"
	dirWebhooks = "webhooks"
	dirTLS      = "tls"
)

// initNamespace makes the namespace that Crossplane and the provider expect to
// be there.
func (s *Stack) initNamespace(ctx context.Context) (outcome, error) {
	c, err := s.Client()
	if err != nil {
		return "", err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := c.Create(ctx, ns); err != nil {
		return outcomeRunning, errors.Wrap(client.IgnoreAlreadyExists(err), "cannot create namespace")
	}
	return outcomeStarted, nil
}

// initCore installs the API and the certificates of Crossplane. It can be done
// again and again.
func (s *Stack) initCore(ctx context.Context) (outcome, error) {
	// The certificate is saved last.
	if hasCertificate(s.path(dirCore, dirTLS)) {
		return outcomeRunning, nil
	}
	c, err := s.Client()
	if err != nil {
		return "", err
	}
	if _, err := s.initNamespace(ctx); err != nil {
		return "", err
	}
	// The package manager looks for secrets to pull with there.
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: nameCore}}
	if err := client.IgnoreAlreadyExists(c.Create(ctx, sa)); err != nil {
		return "", errors.Wrap(err, "cannot create service account")
	}
	// crossplane core init installs them too, but then it does not wait until
	// the API that it goes on to use is served.
	crds := filepath.Join(s.release(), "crds")
	if _, err := s.installCRDs(crds); err != nil {
		return "", err
	}
	p := s.piece(nameCore, nil, []string{
		"KUBECONFIG=" + s.path(dirKubernetes, fileKubeconfig),
		"TLS_CA_SECRET_NAME=" + secretCA,
		"TLS_CLIENT_SECRET_NAME=" + secretClient,
		"POD_NAMESPACE=" + Namespace,
		"CRDS_PATH=" + crds,
		// The flag has another name in v2.0.
		"WEBHOOK_ENABLED=false",
	})
	cmd := exec.CommandContext(ctx, p.path, "core", "init", "--activation=*")
	cmd.Env = p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Wrapf(err, "cannot initialise Crossplane: %s", out)
	}
	secret := &corev1.Secret{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: secretClient}, secret); err != nil {
		return "", errors.Wrap(err, "cannot get the client certificate of Crossplane")
	}
	return outcomeStarted, writeFiles(s.path(dirCore, dirTLS), secret.Data)
}

// core of Crossplane. Its metrics, its health and its webhooks are the only
// things in the stack that do not listen on loopback: there is no option for
// that.
func (s *Stack) core(ctx context.Context) (*Piece, error) {
	c, err := s.Client()
	if err != nil {
		return nil, err
	}
	ca, err := coreAuthority(ctx, c)
	if err != nil {
		return nil, err
	}
	webhooks := s.path(dirCore, dirWebhooks)
	if err := issue(ca, webhooks, nameCore); err != nil {
		return nil, err
	}
	ready := serves("http://" + loopback(s.ports[portCoreHealth]) + "/readyz")
	env := []string{"KUBECONFIG=" + s.path(dirKubernetes, fileKubeconfig), "POD_NAMESPACE=" + Namespace}
	// Core keeps packages there, but does not make the directory.
	if err := os.MkdirAll(s.path(dirCore, "xpkg"), 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot make directory")
	}
	pkgs := "External"
	if s.opts.Packages {
		pkgs = "Deployment"
	}
	args := []string{
		"core", "start",
		"--enable-operations",
		"--package-runtime=" + pkgs,
		"--tls-client-certs-dir=" + s.path(dirCore, dirTLS),
		"--tls-server-certs-dir=" + webhooks,
		fmt.Sprintf("--webhook-port=%d", s.ports[portCoreWebhooks]),
		"--xpkg-cache-dir=" + s.path(dirCore, "xpkg"),
		"--xfn-cache-dir=" + s.path(dirCore, "xfn"),
		fmt.Sprintf("--metrics-port=%d", s.ports[nameCore]),
		fmt.Sprintf("--health-probe-port=%d", s.ports[portCoreHealth]),
	}
	p := s.piece(nameCore, ready, env, args...)
	if s.opts.Packages {
		return s.inNode(p) // It calls functions by their names.
	}
	return p, nil
}

// CoreMetrics is where core serves its metrics.
func (s *Stack) CoreMetrics() string {
	return "http://" + loopback(s.ports[nameCore]) + "/metrics"
}

// rbac gives providers the rights that they need, and users those to what is
// installed. There is no option for its port: it has to be in a Pod.
func (s *Stack) rbac(ctx context.Context) (outcome, error) {
	if err := s.ImportProgram(ctx, imageCore, s.bin(nameCore)); err != nil {
		return "", err
	}
	c, err := s.Client()
	if err != nil {
		return "", err
	}
	meta := metav1.ObjectMeta{Namespace: Namespace, Name: nameRBAC}
	for _, o := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: nameRBAC},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: nameRBAC}},
		},
		&corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
			ServiceAccountName: nameRBAC,
			Containers: []corev1.Container{{
				Name: nameRBAC, Image: imageCore, ImagePullPolicy: corev1.PullNever, Args: []string{"rbac", "start"},
			}},
		}},
	} {
		if err := client.IgnoreAlreadyExists(c.Create(ctx, o)); err != nil {
			return "", errors.Wrap(err, "cannot create the RBAC manager")
		}
	}
	return outcomeStarted, nil
}

// installWebhooks has the API server ask core before it deletes what is in use.
// It is what core init would do, had it a Service to be reached at.
func (s *Stack) installWebhooks(ctx context.Context) (outcome, error) {
	c, err := s.Client()
	if err != nil {
		return "", err
	}
	ca, err := coreAuthority(ctx, c)
	if err != nil {
		return "", err
	}
	w := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "crossplane-no-usages"}}
	_, err = controllerutil.CreateOrUpdate(ctx, c, w, func() error {
		w.Webhooks = []admissionv1.ValidatingWebhook{{
			Name:                    "nousages.protection.crossplane.io",
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{
				URL:      new("https://" + loopback(s.ports[portCoreWebhooks]) + "/validate-no-usages"),
				CABundle: ca.PEM,
			},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"crossplane.io/in-use": "true"}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Delete},
				Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
			}},
			SideEffects: new(admissionv1.SideEffectClassNone),
		}}
		return nil
	})
	return outcomeRunning, errors.Wrap(err, "cannot install the webhooks of Crossplane")
}

// coreAuthority is what signs the certificates of core, and of functions.
func coreAuthority(ctx context.Context, c client.Client) (*certs.Authority, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: secretCA}, secret); err != nil {
		return nil, errors.Wrap(err, "cannot get the certificate authority of Crossplane")
	}
	return certs.Parse(secret.Data[fileCert], secret.Data[fileKey])
}

// Scheme of what a stack is made of, and of the provider's API.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	utilruntime.Must(pkgv1.AddToScheme(s))
	utilruntime.Must(clusterv1alpha1.AddToScheme(s))
	utilruntime.Must(namespacedv1alpha1.AddToScheme(s))
	return s
}
