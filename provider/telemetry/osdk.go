package telemetry

import (
	"context"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
)

// osdkMetricAddress is where the module operator_sdk.util.osdk_metric sends what it measures.
const osdkMetricAddress = "127.0.0.1:5050"

// AnswerOSDKMetric accepts what the module operator_sdk.util.osdk_metric sends until the context is done, and drops it.
// Content of Ansible operators runs as it is, without its metrics.
func AnswerOSDKMetric(ctx context.Context, log logging.Logger) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", osdkMetricAddress)
	if err != nil {
		log.Info("Tasks with operator_sdk.util.osdk_metric fail, since nothing answers them", "error", err)
		return
	}

	s := &http.Server{
		Handler:     http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10,
		ErrorLog: stdlog.New(io.Discard, "", 0), // What others try is not worth a line.
	}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()

	_ = s.Serve(l) // It ends with Close.
}
