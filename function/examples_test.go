package main

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"
)

// Examples are copied, so they have to be right.
func TestExamples(t *testing.T) {
	compositions, err := filepath.Glob("../examples/*/*composition.yaml")
	if err != nil || len(compositions) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}

	for _, path := range compositions {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			composition := struct {
				Spec struct {
					Pipeline []struct {
						Input map[string]any `json:"input"`
					} `json:"pipeline"`
				} `json:"spec"`
			}{}
			if err := yaml.Unmarshal(b, &composition); err != nil {
				t.Fatal(err)
			}

			in, err := structpb.NewStruct(composition.Spec.Pipeline[0].Input)
			if err != nil {
				t.Fatal(err)
			}

			namespaced := filepath.Base(filepath.Dir(path)) != "banner"

			if _, mistakes, err := newFunction(t).compositions.Get(in, namespaced); err != nil || len(mistakes) > 0 {
				t.Errorf("%v: %v", err, mistakes.ToAggregate())
			}
		})
	}
}
