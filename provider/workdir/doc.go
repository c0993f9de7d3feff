// Package workdir locks, limits and removes the directories in which content works: those of runs, of installations,
// and of unpacked archives.
package workdir
