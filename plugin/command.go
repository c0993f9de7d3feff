package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/objects"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// Rate limits of requests to the API server, as in kubectl.
const (
	qps   = 50
	burst = 300
)

// page is the largest number of objects in a page of a list.
const page = 500

// plugin is the state of all commands.
type plugin struct {
	out, errs io.Writer
	flags     *genericclioptions.ConfigFlags

	selector      string
	all           bool
	allNamespaces bool

	// composites caches whether a kind is that of XRs or claims.
	composites map[schema.GroupVersionKind]bool
	// lookup returns the objects in the arguments of a command. reads is true for a command that only reads.
	lookup func(args []string, reads bool) ([]corev1.ObjectReference, error)
	client *objects.Client
	// named are the objects in the arguments, and single is true if there is one.
	named  []corev1.ObjectReference
	single bool
}

func newPlugin(out, errs io.Writer) *plugin {
	p := &plugin{
		out: out, errs: errs, flags: genericclioptions.NewConfigFlags(true),
		composites: map[schema.GroupVersionKind]bool{},
	}
	p.lookup = p.roots
	p.flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = qps, burst
		c.WarningHandler = rest.NewWarningWriter(p.errs, rest.WarningWriterOptions{Deduplicate: true})

		return c
	}

	return p
}

// root returns the root command.
func (p *plugin) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-ansible",
		Short: "See and steer what Ansible does for XRs, claims and AnsibleRuns",
		Long: "See and steer what Ansible does for XRs, claims and AnsibleRuns.\n\n" +
			"Objects are named as for kubectl get: TYPE NAME, or TYPE/NAME. An XR or a claim stands for all of its runs.",
		Version:           fmt.Sprintf("kubectl-ansible %s\ncommit %s\n%s", version, commit, runtime.Version()),
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl ansible"},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(p.out)
	root.SetErr(p.errs)
	root.SetVersionTemplate("{{.Version}}\n")
	p.flags.AddFlags(root.PersistentFlags())
	root.AddCommand(p.statusCommand(), p.whyCommand(), p.checkCommand(), p.runCommand(), p.retryCommand(),
		p.cancelCommand(), p.pauseCommand(), p.resumeCommand(),
		p.logsCommand(), p.approveCommand(), p.rejectCommand(), p.historyCommand())

	return root
}

// command returns a command with objects as arguments. run is called with their trees.
func (p *plugin) command(use, short, long string, run func(ctx context.Context, nodes []*tree.Node) error,
	reads bool,
) *cobra.Command {
	c := &cobra.Command{
		Use: use + " (TYPE NAME | TYPE/NAME)...", Short: short, Long: long,
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     p.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if p.named, err = p.lookup(args, reads); err != nil {
				return err
			}

			nodes, err := p.load(cmd.Context())
			if err != nil {
				return err
			}

			return run(cmd.Context(), nodes)
		},
	}
	c.Flags().StringVarP(&p.selector, "selector", "l", "", "Take the objects of a type with matching labels.")
	c.Flags().BoolVarP(&p.allNamespaces, "all-namespaces", "A", false, "Take the objects of all namespaces.")

	if !reads {
		c.Flags().BoolVar(&p.all, "all", false, "Take all objects of a type in the namespace.")
	}

	return c
}

// roots returns the objects in the arguments. Commands that only read accept a type without a name
// for all its objects.
func (p *plugin) roots(args []string, reads bool) ([]corev1.ObjectReference, error) {
	if len(args) == 0 {
		return nil, errors.New(
			"name an object as TYPE NAME or TYPE/NAME, for example ansibleruns.ansible.m.crossplane.io/motd")
	}

	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}

	mapper, err := p.flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}

	c, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		return nil, err
	}

	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}

	p.client = objects.New(c, p.isComposite)

	infos, err := p.find(namespace, reads, args)
	if err != nil {
		return nil, err
	}

	var roots []corev1.ObjectReference

	for _, i := range infos {
		o, _ := i.Object.(*unstructured.Unstructured)
		if o == nil || !ansiblerun.Is(o.Object) && !p.isComposite(i.Mapping.GroupVersionKind) {
			return nil, errors.Errorf("%s/%s is no XR, claim or AnsibleRun", i.Mapping.Resource.Resource, i.Name)
		}

		roots = append(roots, tree.ReferenceTo(o))
	}

	if len(roots) == 0 {
		return nil, errors.New("no objects found")
	}

	return roots, nil
}

// find returns objects. kubectl resolves AnsibleRuns without a group to the cluster scoped type. If there are none,
// find returns those in namespaces.
func (p *plugin) find(namespace string, reads bool, args []string) ([]*resource.Info, error) {
	infos, err := p.build(namespace, reads, args)
	if others := inNamespaces(args); !slices.Equal(others, args) &&
		(kerrors.IsNotFound(err) || err == nil && len(infos) == 0) {
		return p.build(namespace, reads, others)
	}

	return infos, err
}

// inNamespaces returns arguments with the group of AnsibleRuns in namespaces in place of no group.
func inNamespaces(args []string) []string {
	args = slices.Clone(args)

	for i, a := range args {
		typ, name, slash := strings.Cut(a, "/")
		if (slash || i == 0) && strings.TrimSuffix(strings.ToLower(typ), "s") == "ansiblerun" {
			args[i] = strings.TrimSuffix("ansibleruns."+common.GroupNamespaced+"/"+name, "/")
		}
	}

	return args
}

func (p *plugin) build(namespace string, reads bool, args []string) ([]*resource.Info, error) {
	return resource.NewBuilder(p.flags).
		Unstructured().
		NamespaceParam(namespace).DefaultNamespace().AllNamespaces(p.allNamespaces).
		LabelSelectorParam(p.selector).
		SelectAllParam(p.all).
		ResourceTypeOrNameArgs(reads, args...).
		RequestChunksOf(page).
		Flatten().
		Do().
		IntoSingleItemImplied(&p.single).
		Infos()
}

// load returns the trees of the objects. Objects that are gone are left out.
func (p *plugin) load(ctx context.Context) ([]*tree.Node, error) {
	var nodes []*tree.Node

	for _, r := range p.named {
		n, err := p.client.Tree(ctx, r)
		if kerrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, err
		}

		nodes = append(nodes, n)
	}

	return nodes, nil
}

// each calls a function for all nodes, also after an error, and joins the errors.
func each(nodes []*tree.Node, do func(*tree.Node) error) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, do(n))
	}

	return errors.Join(errs...)
}

// complete returns completions: types that have runs, and names of objects of a type.
func (p *plugin) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var all []string

	switch typ, _, slash := strings.Cut(begun, "/"); {
	case slash:
		for _, name := range p.names(cmd.Context(), typ) {
			all = append(all, typ+"/"+name)
		}
	case len(args) > 0 && !strings.Contains(args[0], "/"):
		all = p.names(cmd.Context(), args[0])
	default:
		all, _ = p.types() // Types are completed despite an error.
	}

	return all, cobra.ShellCompDirectiveNoFileComp
}

// isComposite is true for a kind of XRs or claims.
func (p *plugin) isComposite(kind schema.GroupVersionKind) bool {
	if is, known := p.composites[kind]; known {
		return is
	}

	d, err := p.flags.ToDiscoveryClient()
	if err != nil {
		return false
	}

	find := func() bool {
		list, err := d.ServerResourcesForGroupVersion(kind.GroupVersion().String())

		return err == nil && slices.ContainsFunc(list.APIResources,
			func(r metav1.APIResource) bool { return r.Kind == kind.Kind && inCategory(r) })
	}

	is := find()
	if !is && !d.Fresh() {
		d.Invalidate() // The cached discovery may be outdated.

		is = find()
	}

	p.composites[kind] = is

	return is
}

// inCategory is true for XRs and claims, which have categories of Crossplane.
func inCategory(r metav1.APIResource) bool {
	return slices.Contains(r.Categories, "composite") || slices.Contains(r.Categories, "claim")
}

// types returns the types that have runs. With an error, the result may be incomplete.
func (p *plugin) types() ([]string, error) {
	d, err := p.flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}

	lists, err := discovery.ServerPreferredResources(d)

	var types []string

	for _, list := range lists {
		for _, r := range list.APIResources {
			if r.Kind == common.KindAnsibleRun || inCategory(r) {
				group, _, _ := strings.Cut(list.GroupVersion, "/")
				types = append(types, r.Name+"."+group)
			}
		}
	}

	return types, err
}

func (p *plugin) names(ctx context.Context, typ string) []string {
	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil
	}

	infos, err := p.find(namespace, true, []string{typ})
	if err != nil || ctx.Err() != nil {
		return nil
	}

	names := make([]string, 0, len(infos))
	for _, i := range infos {
		names = append(names, i.Name)
	}

	return names
}
