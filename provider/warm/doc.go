// Package warm starts runs without the time that Ansible takes to start.
//
// A Keeper keeps a process that has imported Ansible and ansible-runner, and has read files that they ship. For each
// run, this process forks. It has seen no content, variable or secret: the process of a run receives these on a socket
// of its own, after the fork and before it enters its domain. The supervisor of a run is a child of the provider, as in
// a cold start, so that runs end and are accounted for in the same way.
//
// A run that cannot start like that starts cold: by executing the programs.
package warm
