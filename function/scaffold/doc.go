// Package scaffold writes XRDs, Compositions and configurations for what runs Ansible already: Load reads a role from a
// directory, which Install has fetched with ansible-galaxy if need be, and Write makes the documents. For a project
// of the Operator SDK, WriteOperator makes the documents for its kinds.
//
// Only the command function-ansible scaffold calls it. Nothing is written that package
// validate finds a mistake in. The command is part of the program that the image serves with, so that
// it writes what that version reads; that takes 0.1 of the 50 MB of the program, and
// nothing while it serves.
package scaffold
