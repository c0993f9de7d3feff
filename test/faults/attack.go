package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

// Attacks of plays on what they share with others, each a line of bash. The tests of
// test/security show that they fail; here they must not affect other runs. A play knows the
// directories of the provider from its own directory, and asks the ledger for the processes
// above it.
const (
	attackDirectories = `dir=$HOME; dir=${dir%%/runs/*}; ` +
		`for d in "$dir" "$dir"/runs "$dir"/content "$dir"/content/tmp ` +
		`"$dir"/collections "$dir"/lock; do chmod 0 "$d" 2>&1; done;`

	attackLimits = `exec 4<>/dev/tcp/{{ ledger }}; echo "ancestors $$" >&4; read -r pids <&4; exec 4>&-; ` +
		`for p in $pids; do for l in nofile cpu as nproc; do prlimit --pid "$p" --$l=0:0; done; ` +
		`taskset -p 1 "$p"; renice -n 19 -p "$p"; chrt --idle -p 0 "$p"; ionice -c 3 -p "$p"; done >&2;`

	attackTerminals = `for n in $(seq 0 63); do printf '%s\n' ` +
		`'{"uuid":"x","counter":1,"event":"playbook_on_stats","event_data":` +
		`{"processed":{"localhost":1},"ok":{"localhost":1} } }' >"/dev/pts/$n"; done 2>/dev/null;`

	attackLeftovers = `mkdir -p "$HOME"/a/b; touch "$HOME"/a/b/c; chmod 0 "$HOME"/a/b "$HOME"/a; ` +
		`(setsid sleep 100000 </dev/null >/dev/null 2>&1 &);`
)

// attacks by content, while other runs are in progress.
func (d *drive) attacks() []fault {
	var out []fault

	for _, a := range []struct{ name, line string }{
		{"content changes the modes of the provider's directories", attackDirectories},
		{"content sets limits on its supervisor and the provider", attackLimits},
		{"content writes events to all terminals", attackTerminals},
		{"content leaves files that cannot be removed, and a daemon", attackLeftovers},
	} {
		out = append(out, fault{
			a.name, func(ctx context.Context) (string, error) { return d.attack(ctx, a.line) },
			byProvider,
		})
	}

	return append(out, fault{"content is a kilobyte that is 540 GiB", d.inflate, byProvider})
}

// attack by the plays of an object, at least once.
func (d *drive) attack(ctx context.Context, line string) (string, error) {
	able := d.population.those(func(o *object) bool { return !o.deleted && !o.kept && !o.misspelt && !o.way.hopeless })
	if len(able) == 0 {
		return "", errMissed
	}

	o := d.population.pick(able)
	if err := d.population.arm(ctx, o, line); err != nil {
		return "", err
	}

	attacked := d.played(ctx, o)

	// Also when the time is over: otherwise the object would attack for ever.
	if err := d.population.arm(context.WithoutCancel(ctx), o, ""); err != nil {
		return "", err
	}

	if !attacked {
		return o.name, errMissed
	}

	return o.name, nil
}

// played is true once a play of an object has come to its end.
func (d *drive) played(ctx context.Context, o *object) bool {
	t := d.traps.Arm(func(e trap.Event) bool { return e.Kind == trap.PlayBegan && e.UID == string(o.uid) })
	defer d.traps.Disarm(t)

	select {
	case e := <-t.Caught():
		t.Open()

		return d.eventually(ctx, maxWait, func() bool { return d.book.Run(e.RunID).Outcome != ledger.Working })
	case <-time.After(maxWait):
	case <-ctx.Done():
	}

	return false
}

// inflate what has to be installed.
func (d *drive) inflate(ctx context.Context) (string, error) {
	before := len(d.source.Requests())
	fetched := func() bool {
		return slices.ContainsFunc(d.source.Requests()[before:],
			func(r string) bool { return strings.Contains(r, sparseArchive) })
	}

	text := d.population.next() + fmt.Sprintf("roles:\n- {name: sparse, src: '%s/%s'}\n", d.source.URL, sparseArchive)
	if err := d.population.require(ctx, text); err != nil {
		return "", err
	}

	came := d.eventually(ctx, maxWait/2, fetched)
	pause(ctx, time.Duration(2000+d.roll(4000))*time.Millisecond)

	if err := d.population.bump(context.WithoutCancel(ctx)); err != nil {
		return "", err
	}

	if !came {
		return "", errMissed
	}

	return "", nil
}
