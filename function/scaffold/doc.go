// Package scaffold writes an XRD, a Composition and an example of an XR for a role, from
// what the role says of its variables: Load reads a directory, Install fetches one with
// ansible-galaxy, and Write makes the documents. For an operator of the Operator SDK,
// LoadOperator reads its project, and Operator.Write makes the documents for its kinds.
//
// Only the command function-ansible scaffold calls it. Nothing is written that package
// validate finds a mistake in. The command is part of the program that the image serves with, so that
// it writes what that version reads; that takes 0.1 of the 50 MB of the program, and
// nothing while it serves.
package scaffold
