package common

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Place is where runs are carried out.
// +kubebuilder:validation:Enum=Provider;Pod
type Place string

// Places of runs.
const (
	// PlaceProvider carries runs out in the provider's own Pod.
	PlaceProvider Place = "Provider"
	// PlacePod carries each run out in a Pod of its own.
	PlacePod Place = "Pod"
)

// A ContentSource says where the collections and roles of a run come from.
// +kubebuilder:validation:Enum=Install;Image
type ContentSource string

// Sources of content.
const (
	// ContentInstall installs the requirements of the configuration.
	ContentInstall ContentSource = "Install"
	// ContentImage uses the collections and roles of the image.
	ContentImage ContentSource = "Image"
)

// DefaultKeepFor is how long a Pod is kept after its end.
const DefaultKeepFor = 10 * time.Minute

// Execution says where the runs of a configuration are carried out. It is no input: a change of it starts no run, and
// takes effect with the next run.
// +kubebuilder:validation:XValidation:rule="!has(self.place) || self.place != 'Provider' || !(has(self.image) || has(self.imagePullPolicy) || has(self.imagePullSecrets) || has(self.serviceAccountName) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.labels) || has(self.annotations) || has(self.podTemplate) || has(self.namespace) || has(self.content) || has(self.contentVolumeClaim) || has(self.keepFor))",message="all other fields are about Pods: set place to Pod, or leave them out"
// +kubebuilder:validation:XValidation:rule="!has(self.contentVolumeClaim) || !has(self.content) || self.content != 'Image'",message="nothing is installed where content is Image: leave contentVolumeClaim out, or set content to Install"
type Execution struct {
	// Place is Provider for runs in the provider's own Pod, or Pod for a Pod of its own for each run. The provider's flag
	// --place sets the default, which is Provider without that flag.
	// +optional
	Place Place `json:"place,omitempty"`

	// Image of the Pod: any image with Python, ansible-core and ansible-runner, such as
	// the execution environments that ansible-builder makes. By default it is the image
	// of the provider.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image,omitempty"`

	// ImagePullPolicy of the Pod's images. By default Kubernetes always pulls an image with the tag latest, and pulls any
	// other image if the node does not have it.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// ImagePullSecrets name Secrets in the namespace of the Pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// ServiceAccountName names a ServiceAccount in the namespace of the Pod. Its token is mounted, and the content may
	// read it: workload identities of clouds and access to the cluster need it. Without a ServiceAccount the Pod has no
	// token.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Resources of the container. By default it requests 100m CPU and 256Mi memory, and
	// is limited to 1Gi memory.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// NodeSelector of the Pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the Pod.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Labels of the Pod. The label of Kueue names its queue.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the Pod.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Annotations map[string]string `json:"annotations,omitempty"`

	// PodTemplate is a PodTemplateSpec, with volumes, runtimeClassName, affinity and so on. The fields that the provider
	// sets are merged over it by a strategic merge: lists of containers and volumes are merged by name. The container of
	// the run is named run, and content may use the volumes that are mounted in it. The provider's flag --pod-template
	// sets a template for all Pods. Only cluster scoped configurations may set podTemplate.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	PodTemplate *apiextensionsv1.JSON `json:"podTemplate,omitempty"`

	// Namespace of the Pods and of the Secrets with their inputs. The default is the namespace of the provider. Only
	// cluster scoped configurations may set it: the Pods of a ProviderConfig in a namespace are in that namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Content is Install, the default, to install the requirements in the Pod, or Image to use the collections and roles
	// of the image. With Image the configuration must not have requirements.
	// +optional
	Content ContentSource `json:"content,omitempty"`

	// ContentVolumeClaim names a PersistentVolumeClaim in the namespace of the Pod, to install content into. The next runs
	// find the content there. Any number of Pods may use the claim at a time, on as many nodes as its access mode allows.
	// Without a claim each Pod installs its own content.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ContentVolumeClaim string `json:"contentVolumeClaim,omitempty"`

	// KeepFor is how long a Pod is kept after its end, with its log: 10m by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="keepFor must be between 0s and 168h"
	KeepFor *metav1.Duration `json:"keepFor,omitempty"`
}
