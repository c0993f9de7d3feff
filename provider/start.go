package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	authv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/outputstore"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
)

// How long the end may take when the grace period of runs is over: until their last
// results are written, and until the manager has stopped. With the lease, which is
// given up after that, it is less than the ten seconds that a Pod has for it.
const (
	recordGrace = 4 * time.Second
	stopGrace   = 2 * time.Second
)

type startCommand struct {
	execution

	Debug                  bool          `help:"Log every decision."`
	PollInterval           time.Duration `default:"10m"                                                      help:"Time between the end of a run and the next periodic one, unless the object is annotated with crossplane.io/poll-interval."`
	MinPollInterval        time.Duration `default:"10s"                                                      help:"Shortest poll interval that an object may ask for."`
	MaxConcurrentRuns      int           `default:"4"                                                        help:"Runs to carry out at the same time."`
	MaxRunsPerNamespace    int           `default:"0"                                                        help:"Runs of one namespace to carry out at the same time; 0 means as many as --max-concurrent-runs. Cluster scoped AnsibleRuns count for the namespace of their claim, those without one together." name:"max-concurrent-runs-per-namespace"`
	MaxReconcileRate       int           `default:"100"                                                      help:"Reconciles per second, at most."`
	ShutdownGracePeriod    time.Duration `default:"20s"                                                      help:"Time that runs in progress may take to end by themselves when the provider is told to stop."`
	Namespace              string        `default:"crossplane-system"                                        env:"POD_NAMESPACE"                                                                                                                help:"Namespace of the provider, for its key and its lease."`
	LeaderElection         bool          `default:"true"                                                     help:"Let one of several replicas be active at a time. An upgrade starts the next one before the last one has ended."                             negatable:""`
	AllowHostSources       bool          `help:"Allow cluster scoped configurations to read files and environment variables of the provider: the sources Filesystem and Environment."`
	MetricsBindAddress     string        `default:":8080"                                                    help:"Address of the metrics; 0 turns them off."`
	HealthProbeBindAddress string        `default:":8081"                                                    help:"Address of /healthz and /readyz; 0 turns them off."`
}

// Validate the flags: with some values a provider would do nothing and not say
// why, or never rest.
func (c *startCommand) Validate() error {
	switch {
	case c.MaxConcurrentRuns < 1:
		return errors.New("--max-concurrent-runs must be at least 1")
	case c.MaxRunsPerNamespace < 0:
		return errors.New("--max-concurrent-runs-per-namespace must not be negative: 0 means as many as --max-concurrent-runs")
	case c.MaxReconcileRate < 1:
		return errors.New("--max-reconcile-rate must be at least 1")
	case c.PollInterval <= 0:
		return errors.Errorf("--poll-interval must be more than 0: objects that are not to be run at a poll have the run policy %s", common.RunOnChange)
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

	// Until now there was nothing to end in order.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	key, err := c.key(ctx, mgr.GetClient(), log)
	if err != nil {
		return errors.Wrapf(err, "cannot get the key of digests in namespace %q (is --namespace right?)", c.Namespace)
	}

	installs := telemetry.NewContentMetrics()

	c.Sharing = c.MaxConcurrentRuns

	local, store, err := c.executor(ctx, key, log, func(left func() int) {
		metrics.Registry.MustRegister(telemetry.NewLeftMetric(left))
	}, content.WithObserver(installs))
	if err != nil {
		return err
	}

	count := telemetry.NewMetrics()
	observers := telemetry.Observers{
		telemetry.NewLog(log),
		telemetry.NewEvents(event.NewAPIRecorder(mgr.GetEventRecorderFor("provider-ansible"))), //nolint:staticcheck // What event.NewAPIRecorder takes.
		count,
	}
	runs := pool.New(c.MaxConcurrentRuns, cmp.Or(c.MaxRunsPerNamespace, c.MaxConcurrentRuns), telemetry.Observed(local, observers))

	metrics.Registry.MustRegister(count, installs, telemetry.NewPoolMetrics(runs.Stats))

	if err := setup(ctx, mgr, c.reconcilers(mgr, runs, store, observers, key, log)); err != nil {
		return err
	}

	lease.end = func() { endNow(runs, store) }

	if err := mgr.Add(stopping(runs, store)); err != nil {
		return errors.Wrap(err, "cannot watch the leadership")
	}

	log.Info("Starting", "version", version, "poll-interval", c.PollInterval, "max-concurrent-runs", c.MaxConcurrentRuns, "state-dir", c.StateDir)

	return c.serve(ctx, mgr, runs, store, log)
}

// reconcilers of AnsibleRuns are set up with these options.
func (c *startCommand) reconcilers(mgr ctrl.Manager, runs *pool.Pool, store *content.Store, o ansiblerun.RunObserver, key []byte, log logging.Logger) ansiblerun.Options {
	return ansiblerun.Options{
		Options:         c.options(log),
		Resolver:        config.NewResolver(mgr.GetClient(), config.AllowHost(c.AllowHostSources)),
		Tracker:         config.NewTracker(mgr.GetClient()),
		Pool:            runs,
		Observer:        o,
		Outputs:         outputstore.New(mgr.GetClient(), c.Namespace),
		Contents:        store,
		Key:             key,
		Timeouts:        c.timeouts(),
		MinPollInterval: c.MinPollInterval,
	}
}

// key of digests. A provider that was just installed may start before Crossplane
// has given it any rights, and what it may do decides how it starts.
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

// serve until the context is done, and then stop in order: runs first, so that
// their results are still written.
func (c *startCommand) serve(ctx context.Context, mgr ctrl.Manager, runs *pool.Pool, store *content.Store, log logging.Logger) error {
	mgrCtx, stopManager := context.WithCancel(context.Background())
	defer stopManager()

	var err error

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		err = mgr.Start(mgrCtx)
	}()

	select {
	case <-ended:
		endNow(runs, store)

		return err
	case <-ctx.Done():
	}

	log.Info("Stopping", "grace-period", c.ShutdownGracePeriod)

	over := time.Now().Add(c.ShutdownGracePeriod)

	grace, cancel := context.WithDeadline(context.Background(), over)
	defer cancel()

	store.Stop()
	runs.Stop(grace)

	// An upgrade takes the rights to write them away, and gives them back when the
	// next revision has its own. A removal does not, and the lease is lost.
	recorded(runs, time.Until(over.Add(recordGrace)), ended)
	stopManager()

	<-ended

	return err
}

// stopping stops all that runs as soon as the manager ends. It ends before it is told
// to only when it failed, or when another replica leads: nothing can be recorded
// any more, and nothing of ours may go on.
func stopping(runs *pool.Pool, store *content.Store) manager.RunnableFunc {
	return func(ctx context.Context) error {
		<-ctx.Done()
		endNow(runs, store)

		return nil
	}
}

// endNow all that runs, without a grace period.
func endNow(runs *pool.Pool, store *content.Store) {
	over, cancel := context.WithCancel(context.Background())
	cancel()

	runs.Stop(over)
	store.Stop()
}

// recorded waits until the results of all runs were written, or cannot be any more
// since the manager has ended.
func recorded(runs *pool.Pool, atMost time.Duration, ended <-chan struct{}) {
	deadline := time.After(atMost)
	tick := time.NewTicker(50 * time.Millisecond)

	defer tick.Stop()

	for runs.Unrecorded() > 0 {
		select {
		case <-deadline:
			return
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

// manager of the controllers, and the lease that it leads by.
func (c *startCommand) manager() (ctrl.Manager, *lease, error) {
	scheme := runtime.NewScheme()

	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		clusterv1alpha1.AddToScheme,
		namespacedv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, nil, errors.Wrap(err, "cannot build the scheme")
		}
	}

	cfg, err := ctrl.GetConfig()
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot find the API server")
	}

	cfg = ratelimiter.LimitRESTConfig(cfg, c.MaxReconcileRate)

	lease, err := newLease(cfg, c.Namespace, leaseRequest)
	if err != nil {
		return nil, nil, err
	}

	// Once each: of the finalizers that Crossplane gives every object, Kubernetes
	// would have one logged for every object.
	cfg.WarningHandlerWithContext = ctrllog.NewKubeAPIWarningLogger(ctrllog.KubeAPIWarningLoggerOptions{Deduplicate: true})

	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme,
		Cache:  cacheOptions(),
		// Secrets are read when they are needed, and not kept.
		Client:                              client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Metrics:                             metricsserver.Options{BindAddress: c.MetricsBindAddress},
		HealthProbeBindAddress:              c.HealthProbeBindAddress,
		LeaderElection:                      c.LeaderElection,
		LeaderElectionID:                    leaseName, // What its metric is called.
		LeaderElectionResourceLockInterface: lease,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       new(leaseDuration),
		RenewDeadline:                       new(renewDeadline),
		RetryPeriod:                         new(renewPeriod),
		GracefulShutdownTimeout:             new(stopGrace),
	})
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot create the controller manager")
	}

	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, nil, errors.Wrap(err, "cannot serve /healthz")
	}

	return mgr, lease, nil
}

// cacheOptions say what is kept in memory of what the manager watches. Who wrote
// which field is about as large as the object and read by nobody here; an update
// that says nothing about it leaves it to the API server, as it was.
func cacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&apiextensionsv1.CustomResourceDefinition{}: {Transform: customresourcesgate.TransformStripCRDSchema},
			&corev1.Secret{}:    {Transform: config.NameOnly},
			&corev1.ConfigMap{}: {Transform: config.NameOnly},
		},
	}
}

func (c *startCommand) options(log logging.Logger) controller.Options {
	mr := managed.NewMRMetricRecorder()
	state := statemetrics.NewMRStateMetrics()
	metrics.Registry.MustRegister(mr, state)

	return controller.Options{
		Logger:                  log,
		GlobalRateLimiter:       ratelimiter.NewGlobal(c.MaxReconcileRate),
		PollInterval:            c.PollInterval,
		MaxConcurrentReconciles: max(c.MaxReconcileRate/10, 1),
		Features:                &feature.Flags{},
		MetricOptions: &controller.MetricOptions{
			PollStateMetricInterval: time.Minute,
			MRMetrics:               mr,
			MRStateMetrics:          state,
		},
	}
}

// setup the controllers. Those of a kind start when its CRD is there, where the
// provider may watch CRDs; otherwise all of them start at once.
func setup(ctx context.Context, mgr ctrl.Manager, o ansiblerun.Options) error {
	safe, err := maySafeStart(ctx, mgr)
	if err != nil {
		return errors.Wrap(err, "cannot find out whether CustomResourceDefinitions may be watched")
	}

	started := newStarted(mgr.Elected())
	if err := mgr.AddReadyzCheck("controllers", started.check); err != nil {
		return errors.Wrap(err, "cannot serve /readyz")
	}

	if !safe {
		o.Logger.Info("Starting all controllers at once, since CustomResourceDefinitions may not be watched")

		for _, s := range setups(ctx, o) {
			if err := s.setup(mgr); err != nil {
				return errors.Wrapf(err, "cannot set up %s", s.name)
			}

			started.add(s.name, nil)
		}

		return nil
	}

	o.Gate = new(gate.Gate[schema.GroupVersionKind])

	for _, s := range setups(ctx, o) {
		o.Gate.Register(func() {
			err := s.setup(mgr)
			if err != nil {
				o.Logger.Info("Cannot start a controller", "controller", s.name, "error", err)
			}

			started.add(s.name, err)
		}, s.needs...)
	}

	return errors.Wrap(customresourcesgate.Setup(mgr, o.Options), "cannot set up the gate of the controllers")
}

func maySafeStart(ctx context.Context, mgr ctrl.Manager) (bool, error) {
	for _, verb := range []string{"get", "list", "watch"} {
		review := &authv1.SelfSubjectAccessReview{Spec: authv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authv1.ResourceAttributes{
				Group:    apiextensionsv1.GroupName,
				Resource: "customresourcedefinitions",
				Verb:     verb,
			},
		}}

		if err := mgr.GetClient().Create(ctx, review); err != nil {
			return false, err
		}

		if !review.Status.Allowed {
			return false, nil
		}
	}

	return true, nil
}
