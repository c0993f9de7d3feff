package telemetry

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/crowd"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
)

const (
	// MeasurementsAddress is where the module operator_sdk.util.osdk_metric sends what it measures.
	MeasurementsAddress = "127.0.0.1:5050"

	listenAgain    = 30 * time.Second
	requestTimeout = 5 * time.Second
	maxConnections = 256
	maxRequestSize = 8 << 10
)

// Listen answers what the module operator_sdk.util.osdk_metric sends until the context is done, at the address
// that it sends it to. An answer only says whether a metric can be understood: everybody on this machine can
// send one in the name of anybody. What is measured comes with the events of each run.
func Listen(ctx context.Context, address string, log logging.Logger) {
	for told := false; ctx.Err() == nil; {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err == nil {
			answer(ctx, l)
			continue
		}

		if !told && ctx.Err() == nil {
			log.Info("Tasks with operator_sdk.util.osdk_metric fail, unless somebody else answers them; trying again",
				"error", err)
		}

		told = true

		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// answer requests until the context is done.
func answer(ctx context.Context, l net.Listener) {
	s := &http.Server{
		Handler:     http.HandlerFunc(understand),
		ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, MaxHeaderBytes: maxRequestSize,
		ErrorLog: log.New(io.Discard, "", 0), // What others try is not worth a line.
	}
	s.SetKeepAlivesEnabled(false)

	defer context.AfterFunc(ctx, func() { _ = s.Close() })()

	// Everybody on this machine can connect, and nobody is to wait for those who do not send anything.
	_ = s.Serve(crowd.Limit(l, maxConnections)) // It ends with Close.
}

// understand a metric.
func understand(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}

	if r.Method != http.MethodPost {
		http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
		return
	}

	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestSize))
	if err == nil {
		_, err = events.ParseMetric(text, time.Now())
	}

	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}
