package runner

import (
	"path"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// FuzzInventory names the files of inventories.
func FuzzInventory(f *testing.F) {
	f.Add([]byte("plugin: amazon.aws.aws_ec2\nregions: [eu-west-1]\n"), false)
	f.Add([]byte("plugin: ../../x\n"), false)
	f.Add([]byte("plugin: \"a\\0b/\\n\"\n"), true)
	f.Add([]byte("[web]\nhost\n"), true)

	f.Fuzz(func(t *testing.T, text []byte, executable bool) {
		in := inputs.Inputs{Inventories: []inputs.File{{Data: text}}}
		in.Parameters.ExecutableInventory = executable

		for _, file := range planner().inventories(in)[1:] {
			name := path.Base(file.Path)
			if file.Path != path.Join(inventoryDir, "0", name) || strings.ContainsAny(name, "\x00\n\\") || len(name) > 255 || name[0] == '.' {
				t.Errorf("inventories(%q): got the path %q", text, file.Path)
			}
		}
	})
}
