package pods

import (
	"context"
	"os"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
)

const (
	// runtimeContainer is the name that Crossplane gives the container of a provider.
	runtimeContainer = "package-runtime"
	// adviceImage tells the user what to do if the provider cannot read its own Pod.
	adviceImage = "name it with --pod-image"
)

// OwnOf returns a function that returns the image and the pull secrets of the provider's own Pod in a namespace, or
// only the image in its argument. The Pod is read at the first call: the provider may receive the rights for that
// later.
func OwnOf(kube client.Client, namespace, image string) func(context.Context) (Own, error) {
	var (
		mu  sync.Mutex
		own = Own{Image: image}
	)

	return func(ctx context.Context) (found Own, err error) {
		mu.Lock()
		defer mu.Unlock()

		if own.Image == "" {
			own, err = findOwn(ctx, kube, namespace)
		}

		return own, err
	}
}

// findOwn reads the provider's own Pod. The error is a rights.Error if the provider lacks a right.
func findOwn(ctx context.Context, kube client.Client, namespace string) (Own, error) {
	// The host name of a Pod is its name.
	host, err := os.Hostname()
	if err != nil {
		return Own{}, errors.Wrap(err, "cannot find the name of the provider's own Pod; "+adviceImage)
	}

	p := &corev1.Pod{}
	if err := kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: host}, p); err != nil {
		err = errors.Wrap(err, "cannot find out the image of the provider from its own Pod; "+adviceImage)

		return Own{}, rights.Explained(err, func() error {
			role := rights.Role{Name: "provider-ansible-own-pod", File: "examples/operations/pods.yaml"}

			return rights.Check(ctx, kube, namespace, role,
				[]authorizationv1.ResourceAttributes{{Resource: "pods", Verb: "get", Name: host}})
		})
	}

	for _, c := range p.Spec.Containers {
		if c.Name == runtimeContainer || len(p.Spec.Containers) == 1 {
			return Own{Image: c.Image, Namespace: p.Namespace, PullSecrets: p.Spec.ImagePullSecrets}, nil
		}
	}

	return Own{}, errors.Errorf("the provider's own Pod has no container %q with an image to use; %s",
		runtimeContainer, adviceImage)
}

// A Template is a PodTemplateSpec in JSON; nil for none.
type Template []byte

// UnmarshalText reads the file that the text names, in YAML or JSON.
func (t *Template) UnmarshalText(file []byte) error {
	text, err := os.ReadFile(string(file))
	if err != nil {
		return errors.Wrap(err, "cannot read the template of Pods")
	}

	if err := yaml.UnmarshalStrict(text, &corev1.PodTemplateSpec{}); err != nil {
		return errors.Wrapf(err, "%s is not a PodTemplateSpec", file)
	}

	*t, err = yaml.YAMLToJSON(text)

	return errors.Wrapf(err, "cannot read %s", file)
}
