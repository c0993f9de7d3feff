package v1alpha1

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// Interfaces of crossplane-runtime for managed resources and configurations. Crossplane's generator of these methods
// does not know the types of apis/v2/core/v2 yet.
var (
	_ resource.LegacyManaged             = &AnsibleRun{}
	_ resource.ManagedList               = &AnsibleRunList{}
	_ resource.ProviderConfig            = &ProviderConfig{}
	_ resource.LegacyProviderConfigUsage = &ProviderConfigUsage{}
	_ resource.ProviderConfigUsageList   = &ProviderConfigUsageList{}
)

// GetCondition of this AnsibleRun.
func (r *AnsibleRun) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return r.Status.GetCondition(t)
}

// SetConditions of this AnsibleRun.
func (r *AnsibleRun) SetConditions(c ...xpv2.Condition) {
	r.Status.SetConditions(c...)
}

// GetObservedGeneration of this AnsibleRun.
func (r *AnsibleRun) GetObservedGeneration() int64 {
	return r.Status.GetObservedGeneration()
}

// SetObservedGeneration of this AnsibleRun.
func (r *AnsibleRun) SetObservedGeneration(g int64) {
	r.Status.SetObservedGeneration(g)
}

// GetLastHandledReconcileAt of this AnsibleRun.
func (r *AnsibleRun) GetLastHandledReconcileAt() string {
	return r.Status.GetLastHandledReconcileAt()
}

// SetLastHandledReconcileAt of this AnsibleRun.
func (r *AnsibleRun) SetLastHandledReconcileAt(token string) {
	r.Status.SetLastHandledReconcileAt(token)
}

// GetManagementPolicies of this AnsibleRun.
func (r *AnsibleRun) GetManagementPolicies() xpv2.ManagementPolicies {
	return r.Spec.ManagementPolicies
}

// SetManagementPolicies of this AnsibleRun.
func (r *AnsibleRun) SetManagementPolicies(p xpv2.ManagementPolicies) {
	r.Spec.ManagementPolicies = p
}

// GetProviderConfigReference of this AnsibleRun.
func (r *AnsibleRun) GetProviderConfigReference() *xpv2.Reference {
	return r.Spec.ProviderConfigReference
}

// SetProviderConfigReference of this AnsibleRun.
func (r *AnsibleRun) SetProviderConfigReference(ref *xpv2.Reference) {
	r.Spec.ProviderConfigReference = ref
}

// GetWriteConnectionSecretToReference of this AnsibleRun.
func (r *AnsibleRun) GetWriteConnectionSecretToReference() *xpv2.SecretReference {
	return r.Spec.WriteConnectionSecretToReference
}

// SetWriteConnectionSecretToReference of this AnsibleRun.
func (r *AnsibleRun) SetWriteConnectionSecretToReference(ref *xpv2.SecretReference) {
	r.Spec.WriteConnectionSecretToReference = ref
}

// GetDeletionPolicy of this AnsibleRun.
func (r *AnsibleRun) GetDeletionPolicy() xpv2.DeletionPolicy {
	return r.Spec.DeletionPolicy
}

// SetDeletionPolicy of this AnsibleRun.
func (r *AnsibleRun) SetDeletionPolicy(p xpv2.DeletionPolicy) {
	r.Spec.DeletionPolicy = p
}

// GetItems of this list.
func (l *AnsibleRunList) GetItems() []resource.Managed {
	items := make([]resource.Managed, len(l.Items))
	for i := range l.Items {
		items[i] = &l.Items[i]
	}

	return items
}

// GetCondition of this ProviderConfig.
func (c *ProviderConfig) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return c.Status.GetCondition(t)
}

// SetConditions of this ProviderConfig.
func (c *ProviderConfig) SetConditions(cs ...xpv2.Condition) {
	c.Status.SetConditions(cs...)
}

// GetUsers of this ProviderConfig.
func (c *ProviderConfig) GetUsers() int64 {
	return c.Status.Users
}

// SetUsers of this ProviderConfig.
func (c *ProviderConfig) SetUsers(n int64) {
	c.Status.Users = n
}

// GetProviderConfigReference of this usage.
func (u *ProviderConfigUsage) GetProviderConfigReference() xpv2.Reference {
	return u.ProviderConfigReference
}

// SetProviderConfigReference of this usage.
func (u *ProviderConfigUsage) SetProviderConfigReference(ref xpv2.Reference) {
	u.ProviderConfigReference = ref
}

// GetResourceReference of this usage.
func (u *ProviderConfigUsage) GetResourceReference() xpv2.TypedReference {
	return u.ResourceReference
}

// SetResourceReference of this usage.
func (u *ProviderConfigUsage) SetResourceReference(ref xpv2.TypedReference) {
	u.ResourceReference = ref
}

// GetItems of this list.
func (l *ProviderConfigUsageList) GetItems() []resource.ProviderConfigUsage {
	items := make([]resource.ProviderConfigUsage, len(l.Items))
	for i := range l.Items {
		items[i] = &l.Items[i]
	}

	return items
}
