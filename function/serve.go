package main

import (
	"os"
	"runtime/debug"

	"github.com/crossplane/function-sdk-go"
	"github.com/crossplane/function-sdk-go/errors"
)

// gcPercent is the GOGC of the function by default. Little memory outlives a request, so that half as many garbage
// collections save more time than they cost memory.
const gcPercent = 200

// A serveCommand serves the function to Crossplane.
type serveCommand struct {
	Debug bool `help:"Log what is done for each request." short:"d"`

	Network        string `default:"tcp"                                                                                       help:"Network on which to listen for gRPC connections."`
	Address        string `default:":9443"                                                                                     help:"Address at which to listen for gRPC connections."`
	MetricsAddress string `default:":8080"                                                                                     help:"Address at which to serve metrics; none when empty."`
	TLSCertsDir    string `env:"TLS_SERVER_CERTS_DIR" help:"Directory of tls.crt and tls.key, and of the clients' ca.crt." name:"tls-certs-dir"`
	Insecure       bool   `help:"Serve without mTLS; only for development."`
	MaxRecvSize    int    `default:"64"                                                                                        help:"Size of the largest request, in MiB."`
}

// Run serves the function until it fails.
func (c *serveCommand) Run() error {
	log, err := function.NewLogger(c.Debug)
	if err != nil {
		return errors.Wrap(err, "cannot make a logger")
	}

	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}

	return function.Serve(NewFunction(log),
		function.Listen(c.Network, c.Address),
		function.MTLSCertificates(c.TLSCertsDir),
		function.Insecure(c.Insecure),
		function.MaxRecvMessageSize(c.MaxRecvSize<<20),
		function.WithMetricsServer(c.MetricsAddress),
	)
}
