package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/controller"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/outputstore"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
)

type startCommand struct {
	execution

	ContentTTL             time.Duration `default:"1h" help:"How long content that is not pinned, such as a range of versions or a branch, serves before it is resolved again; 0 means for ever."`
	Debug                  bool          `help:"Log every decision."`
	PollInterval           time.Duration `default:"10m"                                                      help:"Time between the end of a run and the next periodic one, unless the object is annotated with crossplane.io/poll-interval."`
	MinPollInterval        time.Duration `default:"10s"                                                      help:"Shortest poll interval that an object may ask for."`
	MaxConcurrentRuns      int           `default:"4"                                                        help:"Runs to carry out at the same time."`
	MaxRunsPerNamespace    int           `default:"0"                                                        help:"Runs of one namespace to carry out at the same time; 0 means as many as --max-concurrent-runs. Cluster scoped AnsibleRuns count for the namespace of their claim, those without one together." name:"max-concurrent-runs-per-namespace"`
	MaxConcurrentPods      int           `default:"100" help:"Pods of runs at the same time. A Pod that has waited for a minute, for a node or a quota, does not count."`
	MaxPodsPerNamespace    int           `default:"0" help:"Pods of runs of one namespace at the same time; 0 means half of --max-concurrent-pods. Cluster scoped AnsibleRuns count as for runs." name:"max-concurrent-pods-per-namespace"`
	Place                  common.Place  `default:"Provider" enum:"Provider,Pod" help:"Where runs are carried out whose configuration does not say so: Provider for the provider's own Pod, Pod for a Pod each."`
	NoRunsInProvider       bool          `help:"Carry out no run in the provider's own Pod, whatever configurations say."`
	PodNamespace           string        `help:"Namespace of the Pods of cluster scoped configurations that have none of their own; by default the provider's."`
	PodImage               string        `help:"Image of the provider for the Pods of runs; by default that of the provider's own Pod." env:"POD_IMAGE"`
	PodTemplate            podTemplate   `help:"A file with a PodTemplateSpec for the Pods of all runs, in YAML or JSON. That of a configuration (spec.execution.podTemplate) is merged over it." placeholder:"FILE"`
	WarmMemory             size          `default:"256Mi" help:"Memory that a process may take which has imported Ansible, and by which runs in the provider start several times faster; 0 means that there is none."`
	MaxReconcileRate       int           `default:"100"                                                      help:"Reconciles per second, at most."`
	ShutdownGracePeriod    time.Duration `default:"20s"                                                      help:"Time that runs in progress may take to end by themselves when the provider is told to stop."`
	Namespace              string        `default:"crossplane-system"                                        env:"POD_NAMESPACE"                                                                                                                help:"Namespace of the provider, for its key and its lease."`
	LeaderElection         bool          `default:"true"                                                     help:"Let one of several replicas be active at a time. An upgrade starts the next one before the last one has ended."                             negatable:""`
	AllowHostSources       bool          `help:"Allow cluster scoped configurations to read files and environment variables of the provider: the sources Filesystem and Environment."`
	MetricsBindAddress     string        `default:":8080"                                                    help:"Address of the metrics; 0 turns them off."`
	HealthProbeBindAddress string        `default:":8081"                                                    help:"Address of /healthz and /readyz; 0 turns them off."`
}

// Validate the flags. With the values that it refuses the provider would carry out nothing
// without saying why, or apply without a pause.
func (c *startCommand) Validate() error {
	switch {
	case c.MaxConcurrentRuns < 1:
		return errors.New("--max-concurrent-runs must be at least 1")
	case c.MaxRunsPerNamespace < 0:
		return errors.New(
			"--max-concurrent-runs-per-namespace must not be negative: 0 means as many as --max-concurrent-runs")
	case c.MaxConcurrentPods < 1:
		return errors.New("--max-concurrent-pods must be at least 1")
	case c.MaxPodsPerNamespace < 0:
		return errors.New("--max-concurrent-pods-per-namespace must not be negative: 0 means half of --max-concurrent-pods")
	case c.NoRunsInProvider && c.Place != common.PlacePod:
		return errors.New(
			"--no-runs-in-provider needs --place=Pod: otherwise configurations that do not say where have no place")
	case c.MaxReconcileRate < 1:
		return errors.New("--max-reconcile-rate must be at least 1")
	case c.ContentTTL < 0:
		return errors.New("--content-ttl must not be negative: 0 means for ever")
	case c.PollInterval <= 0:
		return errors.Errorf(
			"--poll-interval must be more than 0: objects that are not to be run at a poll have the run policy %s",
			common.RunOnChange)
	}

	return c.execution.Validate()
}

// Run the controllers until the process is told to stop.
func (c *startCommand) Run() error {
	zl := zap.New(zap.UseDevMode(c.Debug))
	ctrl.SetLogger(zl)
	log := logging.NewLogrLogger(zl.WithName("provider-ansible"))

	mgr, lease, err := c.manager()
	if err != nil {
		return err
	}

	// Until now there is nothing to shut down in order: a signal ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	key, err := c.key(ctx, mgr.GetClient(), log)
	if err != nil {
		return errors.Wrapf(err, "cannot get the key of digests in namespace %q (is --namespace right?)", c.Namespace)
	}

	installs := telemetry.NewContentMetrics()

	c.Sharing = c.MaxConcurrentRuns

	starts := telemetry.NewStarts()
	c.Warm = runner.Warm{
		Dir: filepath.Join(c.StateDir, "warm"), Memory: int64(c.WarmMemory), Started: starts.Started,
		Odd: func(err error) { log.Info("Runs start cold", "error", err) },
	}

	api, err := kubeapi.New(mgr.GetConfig(), mgr.GetClient())
	if err != nil {
		return err
	}

	c.Cluster = api

	c.Idle = c.NoRunsInProvider

	at, local, store, err := c.parts(ctx, content.Config{
		Dir: filepath.Join(c.StateDir, contentDir), Key: key, TTL: c.ContentTTL, Observer: installs,
	}, log)
	if err != nil {
		return err
	}

	// Whoever starts the provider again finds nothing of this one.
	defer local.Close()

	count := telemetry.NewMetrics()
	observers := telemetry.Observers{
		telemetry.NewLog(log),
		telemetry.NewEvents(event.NewAPIRecorder(mgr.GetEventRecorderFor("provider-ansible"))), //nolint:staticcheck // What event.NewAPIRecorder takes.
		count,
	}

	podsExecutor, err := c.pods(ctx, mgr, api, key, func() bool { return !c.LeaderElection || lease.leads() }, log)
	if err != nil {
		return err
	}

	places := executor.Places{common.PlaceProvider: executor.NewLocal(store, local).On(at.policy.Kernel), common.PlacePod: podsExecutor}
	runs := pool.New(telemetry.Observed(places, observers), map[common.Place]pool.Limits{
		common.PlaceProvider: {Jobs: c.MaxConcurrentRuns, PerTenant: cmp.Or(c.MaxRunsPerNamespace, c.MaxConcurrentRuns)},
		common.PlacePod: {
			Jobs:      c.MaxConcurrentPods,
			PerTenant: cmp.Or(c.MaxPodsPerNamespace, (c.MaxConcurrentPods+1)/2),
		},
	})

	metrics.Registry.MustRegister(count, installs, starts, telemetry.NewLeftMetric(local.Left),
		telemetry.NewPoolMetrics(runs.Stats))

	if !c.Idle {
		metrics.Registry.MustRegister(telemetry.NewConfinementMetric(at.policy.Kernel))
	}

	o := c.reconcilers(mgr, runs, store, observers, dependents.New(ctx, api.Metadata), key, log)
	o.Resolver = config.NewResolver(mgr.GetClient(), config.AllowHost(c.AllowHostSources),
		config.AllowPlaces(c.places()), config.RefuseTenants(c.refuses(at.policy)))
	if err := setup(ctx, mgr, o); err != nil {
		return err
	}

	lease.end = func() { endNow(runs, store) }

	if err := mgr.Add(stopping(runs, store)); err != nil {
		return errors.Wrap(err, "cannot watch the leadership")
	}

	log.Info("Starting", "version", version, "poll-interval", c.PollInterval, "max-concurrent-runs", c.MaxConcurrentRuns,
		"state-dir", c.StateDir, "landlock", at.policy.Kernel.Landlock, "seccomp", at.policy.Kernel.Seccomp)

	return c.serve(ctx, mgr, runs, store, log)
}

// reconcilers returns the options of the reconcilers of AnsibleRuns.
func (c *startCommand) reconcilers(mgr ctrl.Manager, runs *pool.Pool, store *content.Store, o controller.RunObserver,
	d controller.Dependents, key []byte, log logging.Logger,
) controller.Options {
	return controller.Options{
		Options:         c.options(log),
		Tracker:         config.NewTracker(mgr.GetClient()),
		Pool:            runs,
		Observer:        o,
		Outputs:         outputstore.New(mgr.GetClient(), c.Namespace),
		Contents:        store,
		Dependents:      d,
		Key:             key,
		Timeouts:        c.timeouts(),
		MinPollInterval: c.MinPollInterval,
	}
}

// key of digests. A provider that was just installed may start before Crossplane has given
// it any rights. It waits for them: how controllers start depends on them.
func (c *startCommand) key(ctx context.Context, kube client.Client, log logging.Logger) ([]byte, error) {
	for told := false; ; told = true {
		key, err := config.Key(ctx, kube, c.Namespace)
		if !kerrors.IsForbidden(err) {
			return key, err
		}

		if !told {
			log.Info("Waiting for rights", "error", err)
		}

		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
}
