package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

// namespace of all that is measured.
const namespace = "bench"

// A bench is a control plane of its own, and a directory for the bare tools.
type bench struct {
	out   io.Writer
	stack *controlplane.Stack
	// provider is the process of provider-ansible.
	provider *controlplane.Piece
	kube     client.WithWatch
	dir      string
	sshd     *sshd.Server
	// count of single runs.
	count  int
	unlock func() error
}

// newBench on a control plane.
func newBench(ctx context.Context, out io.Writer) (*bench, error) {
	b := &bench{out: out}

	var err error
	b.stack, err = controlplane.New(controlplane.Options{
		Root:       ".",
		Dir:        ".cache/bench",
		Logs:       ".cache/logs/bench",
		Kubeconfig: ".cache/bench.kubeconfig",
		Out:        io.Discard,
	})
	if err != nil {
		return nil, err
	}
	if b.unlock, err = b.stack.Lock(ctx); err != nil {
		return nil, err
	}
	if err := b.up(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) up(ctx context.Context) error {
	_, _ = fmt.Fprintln(b.out, "Starting a control plane ...")
	if err := errors.Join(b.stack.Down(ctx), b.stack.Up(ctx)); err != nil {
		return err
	}
	b.provider = b.stack.Provider()

	cfg, err := b.stack.Config()
	if err != nil {
		return err
	}
	if b.kube, err = client.NewWithWatch(cfg, client.Options{Scheme: controlplane.Scheme()}); err != nil {
		return errors.Wrap(err, "cannot make a client")
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return errors.Wrap(err, "cannot make a directory")
	}
	if b.sshd, err = sshd.Start(ctx, filepath.Join(b.dir, "sshd"), sshd.Options{}); err != nil {
		return err
	}
	return b.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, config("default"))
}

// close all that was started, and remove what was made.
func (b *bench) close() error {
	err := b.stack.Down(context.Background())
	if b.sshd != nil {
		b.sshd.Stop()
	}
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return errors.Join(err, b.unlock())
}

// restart the provider with flags.
func (b *bench) restart(ctx context.Context, flags ...string) error {
	if err := b.provider.Stop(ctx); err != nil {
		return err
	}
	b.provider = b.stack.Provider(append([]string{"--debug=false", "--read-path=" + filepath.Join(b.dir, "sshd")},
		flags...)...)
	return b.provider.Start(ctx)
}

func (b *bench) create(ctx context.Context, objs ...client.Object) error {
	for _, o := range objs {
		if err := b.kube.Create(ctx, o); err != nil {
			return errors.Wrapf(err, "cannot create %s", o.GetName())
		}
	}
	return nil
}

// tool runs one of Ansible's commands in a directory, with nothing of the configuration of the current user.
func (b *bench) tool(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(b.stack.VirtualEnv(), name), args...)
	cmd.Dir = dir
	// A home of its own: no run uses the connections of another one.
	cmd.Env = []string{
		"PATH=" + b.stack.VirtualEnv() + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + dir, "TMPDIR=" + b.dir, "LANG=C.UTF-8", "ANSIBLE_LOCALHOST_WARNING=False",
	}
	return cmd
}

// privateData makes a private data directory for ansible-runner.
func (b *bench) privateData(w work) (string, error) {
	dir, err := os.MkdirTemp(b.dir, "p")
	if err != nil {
		return "", errors.Wrap(err, "cannot make a directory")
	}
	files := map[string]string{"project/playbook.yml": w.playbook}
	if w.inventory != "" {
		files["inventory/hosts"] = w.inventory
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return "", errors.Wrap(err, "cannot write a playbook")
		}
	}
	return dir, nil
}

// A bareTool is one of Ansible's commands, with its arguments for a private data directory.
type bareTool func(dir string, w work) (name string, args []string)

func bareRunner(dir string, _ work) (string, []string) {
	return "ansible-runner", []string{"run", dir, "-p", "playbook.yml"}
}

func barePlaybook(dir string, w work) (string, []string) {
	args := []string{"project/playbook.yml"}
	if w.inventory != "" {
		args = append(args, "--inventory", filepath.Join(dir, "inventory"))
	}
	return "ansible-playbook", args
}

// bare runs a work with a bare tool.
func (b *bench) bare(ctx context.Context, w work, with bareTool) (sample, error) {
	dir, err := b.privateData(w)
	if err != nil {
		return sample{}, err
	}
	name, args := with(dir, w)
	s, err := measure(b.tool(ctx, dir, name, args...))
	return s, errors.Wrapf(err, "%s failed", name)
}
