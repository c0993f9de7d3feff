package controlplane

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Metrics that a process serves at a URL, by their names and labels.
func Metrics(ctx context.Context, url string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, errors.Wrap(err, "cannot ask for metrics")
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, errors.Wrap(err, "cannot get metrics")
	}
	defer rsp.Body.Close() //nolint:errcheck // It was only read.

	out := map[string]float64{}
	lines := bufio.NewScanner(rsp.Body)
	for lines.Scan() {
		line := lines.Text()
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || line[0] == '#' {
			continue
		}
		if out[line[:end]], err = strconv.ParseFloat(line[end+1:], 64); err != nil {
			return nil, errors.Wrap(err, "cannot read metrics")
		}
	}
	return out, errors.Wrap(lines.Err(), "cannot read metrics")
}
