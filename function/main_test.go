package main

import (
	"os"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestCommands checks that the binary serves without a command, as packages start it, and refuses an unknown command.
func TestCommands(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   string
		err    string
	}{
		"None": {
			reason: "Crossplane starts the function without a command.",
			want:   "serve",
		},
		"Flags": {
			reason: "The function starts with flags and without a command.",
			args:   []string{"--insecure", "--address=localhost:9443"},
			want:   "serve",
		},
		"Unknown": {
			reason: "An unknown command is an error.",
			args:   []string{"valdate"}, err: "unexpected argument valdate",
		},
		"NoFiles": {
			reason: "validate needs a file.",
			args:   []string{"validate"}, err: `expected "<files> ..."`,
		},
		"RemovalOfNothing": {
			reason: "--fail-on-removal needs --against, since it would always succeed otherwise.",
			args:   []string{"validate", "-", "--fail-on-removal"}, err: "validate: --fail-on-removal needs --against",
		},
		"NoRole": {
			reason: "--role needs --requirements.",
			args:   []string{"scaffold", "--role", "a.b.c"}, err: "scaffold: give the directory of a role, or --role together with --requirements",
		},
		"OperatorAndRole": {
			reason: "--kind cannot be combined with --operator, which has several kinds.",
			args:   []string{"scaffold", "--operator", ".", "--kind", "Site"},
			err:    "scaffold: --operator is in place of a role, and says itself what its kinds are called and what it requires",
		},
		"SourceOfRole": {
			reason: "--source needs --operator.",
			args:   []string{"scaffold", siteRole, "--source", "https://git.example.org/site.git"}, err: "scaffold: --watches and --source are of an --operator",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parser, err := newParser(nil, nil, os.Exit)
			needs.OK(t, err)

			ctx, err := parser.Parse(tc.args)
			if needs.Message(err) != tc.err {
				t.Fatalf("\n%s\nParse(...): want error %q, got %v", tc.reason, tc.err, err)
			}

			if err == nil && ctx.Command() != tc.want {
				t.Errorf("\n%s\nParse(...): want %q, got %q", tc.reason, tc.want, ctx.Command())
			}
		})
	}
}
