package controlplane

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Metrics that a process serves at a URL, by their names and labels.
func Metrics(ctx context.Context, url string) (map[string]float64, error) {
	b, err := get(ctx, http.DefaultClient, url)
	if err != nil {
		return nil, errors.Wrap(err, "cannot get metrics")
	}

	out := map[string]float64{}
	for line := range strings.SplitSeq(string(b), "\n") {
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || line[0] == '#' {
			continue
		}
		if out[line[:end]], err = strconv.ParseFloat(line[end+1:], 64); err != nil {
			return nil, errors.Wrap(err, "cannot read metrics")
		}
	}
	return out, nil
}
