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
	// pause is the time between two reads of the objects.
	pause = time.Second
	// maxErrors is the number of errors in a row after which reading fails.
	maxErrors = 10
)

// style returns the style of texts.
func (p *plugin) style(wide bool) text.Style {
	return text.Style{Style: play.StyleOf(p.out), Wide: wide}
}

// follow reads the objects repeatedly until the callback returns true for
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
