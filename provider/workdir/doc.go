// Package workdir locks, limits and removes the directories in which content
// works: those of runs, of installations, and of unpacked archives.
//
// Content may have left anything in such a directory: links to other directories, directories
// that their owner cannot read, and directories nested deeper than a path can name or a process
// can have open. So every function goes down by descriptors, follows no link out of the directory,
// and changes nothing outside of it. os.RemoveAll and filepath.WalkDir do not guarantee that.
package workdir
