package main

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// overview shows how many AnsibleRuns the cluster has, and those that do not go on by themselves. They are
// listed in pages, and not read one by one.
func (p *plugin) overview(output string) error {
	var types []string

	for _, t := range p.types() {
		if strings.HasPrefix(t, "ansibleruns.") {
			types = append(types, t)
		}
	}

	if len(types) == 0 {
		return errors.New("the cluster has no AnsibleRuns: provider-ansible is not installed, or its kinds are not active")
	}

	infos, err := p.build("", true, []string{strings.Join(types, ",")})
	if err != nil {
		return err
	}

	nodes := make([]*tree.Node, 0, len(infos))

	for _, i := range infos {
		if o, ok := i.Object.(*unstructured.Unstructured); ok {
			nodes = append(nodes, tree.Of(o))
		}
	}

	if output == outputJSON || output == outputYAML {
		return p.write(output, map[string]any{"items": nodes})
	}

	p.printf("%s", text.Overview(p.style(output == outputWide), time.Now(), nodes))

	return nil
}
