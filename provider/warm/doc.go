// Package warm starts runs without Ansible starting each time.
//
// A Keeper keeps a process that has imported Ansible and ansible-runner, and that has read what
// they ship. The process forks a run on request. It has seen no content, no variable and no
// secret: the process of a run gets all that by a socket of its own, after it was forked and
// before it enters its domain. The supervisor of a run is the same as ever, a child of this
// process and not of the one that is kept, so that runs end, and are accounted for, as if they
// had been executed.
//
// A run that cannot be started like that starts cold, by executing the programs.
package warm
