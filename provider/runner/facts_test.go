package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestFacts has confined runs that publish when the facts that they use were gathered.
func TestFacts(t *testing.T) {
	t.Parallel()

	r := newRunner(t, Options{Policy: sandbox.Policy{Mode: sandbox.BestEffort, System: []string{"/"}}})

	var disk unix.Statfs_t
	if err := unix.Statfs(r.dir, &disk); err != nil || disk.Bavail < disk.Blocks/spare {
		needs.Machinef(t, "facts are kept only while a tenth of the disk is free: %v", err)
	}

	gathered := func(change func(*Spec)) string {
		t.Helper()

		run := inline(`
- hosts: localhost
  gather_subset: [min]
  tasks:
  - ansible.builtin.set_stats: {data: {gathered: "{{ ansible_facts.date_time.iso8601_micro }}"}}
`)
		run.Object.UID = "one"
		run.Inputs.Parameters.FactCachingTimeout = &metav1.Duration{Duration: time.Hour}
		change(&run)

		res, err := r.Run(t.Context(), run, events.Watch{})
		if err != nil || res.Phase != common.PhaseSucceeded {
			t.Fatalf("Run(...): %v, %v", res, err)
		}

		return string(res.Summary.Outputs)
	}

	first := gathered(func(*Spec) {})

	if got := gathered(func(s *Spec) { s.Mode = common.ModeCheck }); got != first {
		t.Errorf("Facts should not be gathered again before the timeout: first %s, then %s", first, got)
	}

	kept, err := filepath.Glob(filepath.Join(r.facts("one"), "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("Want the facts of one host, got %q, %v", kept, err)
	}

	needs.OK(t, os.Chtimes(kept[0], time.Time{}, time.Now().Add(-2*time.Hour)))

	if got := gathered(func(*Spec) {}); got == first {
		t.Errorf("Facts should be gathered again after the timeout: %s", got)
	}

	gathered(func(s *Spec) { s.Inputs.Parameters.FactCachingTimeout = nil })

	if left, err := filepath.Glob(filepath.Join(r.dir, "facts", "*")); err != nil || len(left) > 0 {
		t.Errorf("Facts of an object without factCachingTimeout should not be kept, got %q, %v", left, err)
	}
}

// TestFactsEnv has an ansible.cfg that sets gathering.
func TestFactsEnv(t *testing.T) {
	for cfg, want := range map[string]string{"": "smart", "[defaults]\ngathering = implicit\n": ""} {
		in := inputs.Inputs{}
		in.Parameters.FactCachingTimeout = &metav1.Duration{Duration: time.Hour}
		configured(cfg)(&in)

		env := map[string]string{}
		factsEnv(env, in)

		if env["ANSIBLE_GATHERING"] != want || env["ANSIBLE_CACHE_PLUGIN_TIMEOUT"] != "3600" {
			t.Errorf("factsEnv(...) with %q: want gathering %q, got %v", cfg, want, env)
		}
	}
}

// TestAttackFacts has content that replaces the fact cache, and an object with a path as its UID.
func TestAttackFacts(t *testing.T) {
	t.Parallel()

	other := t.TempDir()
	needs.OK(t, os.WriteFile(filepath.Join(other, "x"), nil, 0o600))

	for name, script := range map[string]string{
		"Large": `dd if=/dev/zero bs=1M count=17 of="$ANSIBLE_CACHE_PLUGIN_CONNECTION/x"`,
		"Many":  `cd "$ANSIBLE_CACHE_PLUGIN_CONNECTION" && seq 5000 | xargs touch`,
		"Link":  `rm -rf "$ANSIBLE_CACHE_PLUGIN_CONNECTION" && ln -s ` + other + ` "$ANSIBLE_CACHE_PLUGIN_CONNECTION"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := newRunner(t)

			run := inline("- hosts: localhost\n  gather_facts: false\n  tasks:\n  - {ansible.builtin.shell: '" + script + "'}\n")
			run.Object.UID = "one"
			run.Inputs.Parameters.FactCachingTimeout = &metav1.Duration{Duration: time.Hour}

			if _, err := r.Run(t.Context(), run, events.Watch{}); err != nil {
				t.Error(err)
			}

			if _, err := os.Lstat(r.facts("one")); err == nil {
				t.Error("A file that content leaves in place of the fact cache should be removed.")
			}

			r.Forget(types.UID("../../../../../../../.." + other))

			if _, err := os.Stat(filepath.Join(other, "x")); err != nil {
				t.Errorf("A directory outside the fact caches should not change: %v", err)
			}
		})
	}
}
