package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// guardedRun is an AnsibleRun with a configuration that requires approvals. Mallory may edit it, and Ada may approve.
const guardedRun = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {approval: Required}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: [[.Namespace]], name: editor}
rules:
- {apiGroups: [ansible.m.crossplane.io], resources: [ansibleruns, ansibleruns/status], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: [[.Namespace]], name: editor}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: editor}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: [[.Namespace]], name: approver}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ansible-approver}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ada}]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: page}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    approval: NotRequired
    vars: {directory: "[[.Directory]]", title: "[[.Title]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Write the page
          ansible.builtin.copy: {dest: "{{ directory }}/page", content: "{{ title }}\n"}
          when: ansible_provider_meta.managed_resource.state == 'present'
        - name: Remove the page
          ansible.builtin.file: {path: "{{ directory }}/page", state: absent}
          when: ansible_provider_meta.managed_resource.state == 'absent'
`

// TestApproval takes an AnsibleRun through its life. Each step has to be approved.
func TestApproval(t *testing.T) {
	t.Parallel()

	d := data{Namespace: cp.Namespace(t), Directory: directory(t), Title: "Hello"}
	page, run := filepath.Join(d.Directory, "page"), "ansiblerun.ansible.m.crossplane.io/page"

	// The namespaces of other tests have no such policies.
	cp.Apply(t, strings.ReplaceAll(readFile(t, "../../examples/operations/approvals.yaml"), "validationActions: [Deny]",
		"validationActions: [Deny]\n  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: [[.Namespace]]}}}"), d)

	objs := cp.Apply(t, guardedRun, d)
	o := objs[len(objs)-1]

	u := cp.WaitFor(t, o, Reason("Ready", "AwaitingApproval"), Reason("Approved", "AwaitingApproval"), Field("status.atProvider.drift.changed", 1))
	if exists(page) {
		t.Fatal("Nothing should be changed before it is approved.")
	}

	// The right to edit the run is no right to approve it.
	inOrder(t, ansible(t, 1, d, "approve", run, "--yes", "--as=mallory"), "Write the page on localhost", "+Hello", "you need the right to create approvals", `cannot create resource "approvals"`)
	inOrder(t, ansible(t, 1, d, "approve", run, "--as=ada"), "there is no terminal to ask at")

	// An approval in the name of another user is refused.
	forged := t.TempDir()
	needs.Write(t, forged, map[string]string{"approval.json": fmt.Sprintf(`{"apiVersion": "ansible.m.crossplane.io/v1alpha1", "kind": "Approval", "metadata": {"namespace": %q, "name": "forged"},
		"spec": {"runRef": {"name": "page"}, "digest": %q, "decision": "Approve", "by": "ada"}}`, d.Namespace, Value(u, "status.atProvider.approval.digest"))})
	Eventually(t, "the admission policy to refuse another name", func() bool {
		out, err := cp.TryKubectl("create", "--dry-run=server", "-f", forged)

		return err != nil && strings.Contains(out, "spec.by must be the name of the user")
	})

	// Only the provider says what awaits approval.
	Eventually(t, "the admission policy to refuse another status", func() bool {
		out, err := cp.TryKubectl("--as=mallory", "--namespace="+d.Namespace, "patch", run, "--subresource=status", "--type=merge",
			"--dry-run=server", `--patch={"status": {"atProvider": {"approval": {"state": "Awaiting"}}}}`)

		return err != nil && strings.Contains(out, "only provider-ansible writes the status of AnsibleRuns")
	})

	inOrder(t, ansible(t, 0, d, "why", run), "AwaitingApproval", "kubectl ansible approve "+run, "changes that the last check predicted: 1")
	inOrder(t, ansible(t, 0, d, "status", run), "AwaitingApproval")

	// A rejection has a name and a reason.
	inOrder(t, ansible(t, 0, d, "reject", run, "--yes", "--as=ada", "--reason=not today"), run+" rejected by ada")
	cp.WaitFor(t, o, Reason("Approved", "Rejected"), Message("Approved", "was rejected by ada: not today"))

	inOrder(t, ansible(t, 0, d, "approve", run, "--yes", "--as=ada"), "Rejected by ada: not today", run+" approved by ada")
	cp.WaitFor(t, o, Condition("Ready", "True"), Field("status.atProvider.approval.state", "Applied"), Field("status.atProvider.approval.by", "ada"))

	if got := readFile(t, page); got != "Hello\n" {
		t.Errorf("What was approved should be applied, got %q", got)
	}

	inOrder(t, ansible(t, 0, d, "history", run), "APPROVED BY", "Apply", "Succeeded", "ada", "Check", "Succeeded")
	inOrder(t, ansible(t, 0, d, "approve", run, "--yes", "--as=ada"), "nothing awaits approval")

	// An edit asks again, and so does the deletion.
	d.Title = "Bye"
	objs = cp.Apply(t, guardedRun, d)
	o = objs[len(objs)-1]
	cp.WaitFor(t, o, Reason("Ready", "AwaitingApproval"))

	if got := readFile(t, page); got != "Hello\n" {
		t.Errorf("An edit should change nothing before it is approved, got %q", got)
	}

	cp.Kubectl(t, "delete", "--wait=false", "--namespace="+d.Namespace, run)
	cp.WaitFor(t, o, Reason("Deletable", "AwaitingApproval"))

	if !exists(page) {
		t.Error("A deletion should remove nothing before it is approved.")
	}

	inOrder(t, ansible(t, 0, d, "approve", run, "--yes", "--as=ada"), "It is being deleted", "Remove the page on localhost", "approved by ada")
	cp.WaitGone(t, o)

	if exists(page) {
		t.Error("The deletion should remove the page.")
	}
}
