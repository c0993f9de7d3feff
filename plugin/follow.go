package main

import (
	"context"
	"fmt"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
	"github.com/crossplane-ansible/crossplane-ansible/provider/play"
)

const (
	// pause between two looks at the objects.
	pause = time.Second
	// maxErrors in a row, after which a look at the objects fails for good.
	maxErrors = 10
)

// style of what is shown.
func (p *plugin) style(wide bool) text.Style {
	return text.Style{Style: play.StyleOf(p.out), Wide: wide}
}

// follow the objects: look at them again and again until the callback says that it has seen
// enough.
func (p *plugin) follow(ctx context.Context, seen func(now []*tree.Node) (enough bool, err error)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()

	for failures := 0; ; {
		now, err := p.load(ctx)

		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			failures = 0

			if enough, err := seen(now); enough || err != nil && ctx.Err() == nil {
				return err
			}
		case failures == maxErrors, kerrors.IsForbidden(err), kerrors.IsUnauthorized(err):
			return err
		default:
			failures++
		}

		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *plugin) printf(format string, args ...any) {
	fmt.Fprintf(p.out, format, args...) //nolint:errcheck // There is no way to report it.
}
