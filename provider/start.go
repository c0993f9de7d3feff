package main

import (
	"context"
	"path/filepath"
	"time"

	"golang.org/x/time/rate"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/controller"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/machine"
	"github.com/crossplane-ansible/crossplane-ansible/provider/outputstore"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
)

type startCommand struct {
	machine.Machine

	ContentTTL             time.Duration `default:"1h" help:"How long content that is not pinned, such as a range of versions or a branch, serves before it is resolved again; 0 means for ever."`
	Debug                  bool          `help:"Log every decision."`
	PollInterval           time.Duration `default:"10m"                                                      help:"Time between the end of a run and the next periodic one, unless the object is annotated with crossplane.io/poll-interval."`
	MaxConcurrentRuns      int           `default:"4"                                                        help:"Runs to carry out at the same time."`
	MaxConcurrentPods      int           `default:"100" help:"Pods of runs at the same time, half of them of one namespace. A Pod that has waited for a minute, for a node or a quota, does not count."`
	Place                  common.Place  `default:"Provider" enum:"Provider,Pod,PodsOnly" help:"Where runs are carried out if their configuration does not say so: Provider for the provider's own Pod, Pod for a Pod each. With PodsOnly no run is carried out in the provider's own Pod, whatever configurations say."`
	PodImage               string        `help:"Image of the provider for the Pods of runs; by default that of the provider's own Pod."`
	PodTemplate            pods.Template `help:"A file with a PodTemplateSpec for the Pods of all runs, in YAML or JSON. That of a configuration (spec.execution.podTemplate) is merged over it." placeholder:"FILE"`
	MaxReconcileRate       int           `default:"100"                                                      help:"Reconciles per second, at most."`
	ShutdownGracePeriod    time.Duration `default:"20s"                                                      help:"Time that runs in progress may take to end by themselves when the provider is told to stop."`
	Namespace              string        `default:"crossplane-system"                                        env:"POD_NAMESPACE"                                                                                                                help:"Namespace of the provider, for its key and its lease."`
	LeaderElection         bool          `default:"true"                                                     help:"Let one of several replicas be active at a time. An upgrade starts the next one before the last one has ended."                             negatable:""`
	AllowHostSources       bool          `help:"Allow cluster scoped configurations to read files and environment variables of the provider: the sources Filesystem and Environment."`
	MetricsBindAddress     string        `default:":8080"                                                    help:"Address of the metrics; 0 turns them off."`
	HealthProbeBindAddress string        `default:":8081"                                                    help:"Address of /healthz and /readyz; 0 turns them off."`
}

// Validate validates the flags. With invalid values, the provider would silently execute no runs, or apply without a
// pause.
func (c *startCommand) Validate() error {
	switch {
	case c.MaxConcurrentRuns < 1:
		return errors.New("--max-concurrent-runs must be at least 1")
	case c.MaxConcurrentPods < 1:
		return errors.New("--max-concurrent-pods must be at least 1")
	case c.MaxReconcileRate < 1:
		return errors.New("--max-reconcile-rate must be at least 1")
	case c.ContentTTL < 0:
		return errors.New("--content-ttl must not be negative: 0 means for ever")
	case c.PollInterval <= 0:
		return errors.Errorf(
			"--poll-interval must be more than 0: objects that are not to be run at a poll have the run policy %s",
			common.RunOnChange)
	}

	return c.Machine.Validate()
}

// Run runs the controllers until the context is done.
func (c *startCommand) Run(ctx context.Context) error {
	zl := zap.New(zap.UseDevMode(c.Debug))
	ctrl.SetLogger(zl)
	log := logging.NewLogrLogger(zl.WithName("provider-ansible"))

	mgr, lease, err := c.manager()
	if err != nil {
		return err
	}

	key, err := c.key(ctx, mgr.GetClient(), log)
	if err != nil {
		return err
	}

	c.Sharing = c.MaxConcurrentRuns

	c.Warm = runner.Warm{
		Dir: filepath.Join(c.StateDir, "warm"), Started: telemetry.CountStarts(metrics.Registry),
		Log: func(err error) { log.Info("Runs start cold", "error", err) },
	}

	api, err := kubeapi.New(mgr.GetConfig(), mgr.GetClient())
	if err != nil {
		return err
	}

	c.Cluster, c.Idle = api, c.Place == config.PodsOnly

	at, local, store, err := c.Parts(ctx, content.Config{
		Dir: c.ContentDir(), Key: key, TTL: c.ContentTTL, Metrics: content.NewMetrics(metrics.Registry),
	}, log)
	if err != nil {
		return err
	}

	// The warm process must not outlive the provider.
	defer local.Close()

	recorder := event.NewAPIRecorder(mgr.GetEventRecorderFor("provider-ansible")) //nolint:staticcheck // event.NewAPIRecorder needs this recorder.
	leads := func() bool { return !c.LeaderElection || lease.leads() }

	inPods, err := c.inPods(mgr, api, key, leads, log)
	if err != nil {
		return err
	}

	here := executor.Local{Ensure: store.Ensure, Run: local.Run, Kernel: at.Policy.Kernel}
	runs := pool.New(map[common.Place]pool.Place{
		common.PlaceProvider: {
			Execute: here.Execute, Await: store.Await, Runs: c.MaxConcurrentRuns, PerTenant: c.MaxConcurrentRuns,
		},
		common.PlacePod: {
			Execute: inPods.Execute, Recorded: inPods.Recorded,
			Runs: c.MaxConcurrentPods, PerTenant: (c.MaxConcurrentPods + 1) / 2,
		},
	}, leads, telemetry.NewObserver(log, recorder, metrics.Registry))

	places := config.Places{Default: c.Place, Namespace: c.Namespace}
	objects, states := managed.NewMRMetricRecorder(), statemetrics.NewMRStateMetrics()
	metrics.Registry.MustRegister(objects, states)
	telemetry.MeasurePool(metrics.Registry, runs.Stats)

	if !c.Idle {
		metrics.Registry.MustRegister(telemetry.NewConfinementMetric(at.Policy.Kernel))
	}

	if err := controller.SetupGated(ctx, mgr, controller.Options{
		Options: xpcontroller.Options{
			Logger:                  log,
			PollInterval:            c.PollInterval,
			MaxConcurrentReconciles: max(c.MaxReconcileRate/10, 1),
			MetricOptions: &xpcontroller.MetricOptions{
				PollStateMetricInterval: time.Minute, MRMetrics: objects, MRStateMetrics: states,
			},
		},
		Limit: rate.NewLimiter(rate.Limit(c.MaxReconcileRate), c.MaxReconcileRate*10),
		Resolver: &config.Resolver{
			Reader: mgr.GetClient(), Host: c.AllowHostSources, Places: places, Unconfined: c.Refuses(at.Policy),
		},
		Lacking:    c.lacking(mgr.GetClient(), places),
		Tracker:    config.NewTracker(mgr.GetClient()),
		Pool:       runs,
		Outputs:    outputstore.New(mgr.GetClient(), c.Namespace),
		Contents:   store,
		Dependents: dependents.New(ctx, api.Metadata),
		Facts:      local,
		Key:        key,
		Timeouts:   c.Timeouts(),
	}); err != nil {
		return err
	}

	lease.end = func() { endNow(runs, store) }

	log.Info("Starting", "version", version, "poll-interval", c.PollInterval, "max-concurrent-runs", c.MaxConcurrentRuns,
		"state-dir", c.StateDir, "landlock", at.Policy.Kernel.Landlock, "seccomp", at.Policy.Kernel.Seccomp)

	return c.serve(ctx, mgr, runs, store, log)
}

// key returns the key of digests. A new provider may start before Crossplane has granted its rights. It waits for them,
// since the start of controllers depends on them.
func (c *startCommand) key(ctx context.Context, kube client.Client, log logging.Logger) (key []byte, err error) {
	waited := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		if key, err = config.Key(ctx, kube, c.Namespace); kerrors.IsForbidden(err) {
			log.Info("Waiting for rights", "error", err)
			return false, nil
		}

		return true, err
	})

	return key, errors.Wrapf(waited, "cannot get the key of digests in namespace %q (is --namespace right?)", c.Namespace)
}
