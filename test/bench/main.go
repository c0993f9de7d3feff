// Command bench measures what AnsibleRuns cost, side by side with the bare tools
// on the same playbooks and in the same minutes. Figures of one run can be
// compared with each other, not with those of another machine.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// playbook that is measured. It does a little of what playbooks do.
const playbook = `- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.command: "true"
  - ansible.builtin.copy:
      dest: "{{ lookup('env', 'TMPDIR') | default('/tmp', true) }}/bench-{{ 999999 | random }}"
      content: Hello
  - ansible.builtin.debug: {msg: "{{ item }}"}
    loop: "{{ range(20) | list }}"
`

// chain is measured only by itself.
const chain = "chain"

// cli is the command line.
type cli struct {
	Only string `default:"" enum:",run,throughput,idle,failing,chain" help:"Measure only this; chain is measured only by itself."`

	Repeat  int           `default:"10"   help:"How often a single run is measured, and one beside objects that fail."`
	Rounds  int           `default:"2"    help:"How often the throughput is measured."`
	Runs    int           `default:"40"   help:"Runs whose throughput is measured."`
	Workers int           `default:"2"    help:"Runs at the same time when the throughput is measured."`
	Objects int           `default:"1000" help:"Objects that nothing happens to."`
	Polls   int           `default:"10"   help:"Polls of objects that nothing happens to."`
	Poll    time.Duration `default:"20s"  help:"Poll interval of objects that nothing happens to."`
	Failing int           `default:"8000" help:"Objects that fail, beside which one that is healthy is measured."`
}

// Run what is to be measured.
func (c *cli) Run(ctx context.Context) (err error) {
	b, err := newBench(ctx, os.Stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()

	for _, m := range []struct {
		name    string
		measure func(context.Context, *cli) error
	}{
		{"run", b.single},
		{"throughput", b.throughput},
		{"idle", b.idle},
		{"failing", b.failing},
		{chain, b.chains},
	} {
		if c.Only != m.name && (c.Only != "" || m.name == chain) {
			continue
		}
		if err := m.measure(ctx, c); err != nil {
			return errors.Wrapf(err, "cannot measure %s", m.name)
		}
	}
	return nil
}

func main() {
	// What is worth knowing is printed.
	log.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	k := kong.Parse(&cli{}, kong.Description("Measure AnsibleRuns side by side with ansible-playbook and ansible-runner."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run())
}

// A table of results.
type table struct {
	w *tabwriter.Writer
}

func newTable(out io.Writer, title string, columns ...any) table {
	_, _ = fmt.Fprintf(out, "\n%s\n", title)
	t := table{w: tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)}
	t.row(columns...)
	return t
}

func (t table) row(cells ...any) {
	for _, c := range cells {
		_, _ = fmt.Fprintf(t.w, "%v\t", c)
	}
	_, _ = fmt.Fprintln(t.w)
}

func (t table) flush() { _ = t.w.Flush() }

// seconds of a duration, for a table.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// verdict on a figure that is to be reached.
func verdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "NOT REACHED"
}
