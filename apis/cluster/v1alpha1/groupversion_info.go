// Package v1alpha1 holds the cluster scoped kinds of the API, group ansible.crossplane.io.
//
// +kubebuilder:object:generate=true
// +groupName=ansible.crossplane.io
// +versionName=v1alpha1
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// SchemeGroupVersion is the group and version of the kinds in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: common.GroupCluster, Version: common.Version}

// SchemeBuilder registers the kinds of this package.
var SchemeBuilder = &scheme.Builder{GroupVersion: SchemeGroupVersion}

// AddToScheme adds the kinds of this package to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme
