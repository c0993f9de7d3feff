// Package controlplane runs the whole stack on this machine: etcd,
// kube-apiserver, the controllers of Kubernetes that Crossplane needs,
// Crossplane core, function-ansible and provider-ansible. They are plain
// processes in the background that listen on loopback, on ports that were free
// when the stack was first started. A node that runs Pods, for which root is needed,
// can be added to them: its network is one of this machine and its Pods only.
//
// A stack is known by its directory. Every process it starts carries that
// directory in its environment, and is found again by it: so a stack can be
// looked at, mended and stopped by a process that did not start it, whatever
// happened to the one that did. Only Linux offers what this needs.
package controlplane
