"""Make a process that has imported Ansible like a new one.

Imports read settings from the environment and from ansible.cfg, and store them in places that are not read again.
Reads records which settings they read. Settings reads a setting again if it knows all places, and otherwise requires
that its value has not changed. So nothing depends on a list of Ansible's behavior: at worst, runs of a new release of
Ansible start cold.
"""
import collections
import contextlib
import os
import sys
import types

import shipped_yaml
import yaml

# Prefixes of variables that Python and libraries in C read by themselves.
OF_LIBRARIES = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "OPENSSL_", "CRYPTOGRAPHY_", "GCONV_PATH", "LOCPATH")
# Variables that imports read for purposes that do not concern a play: the name of the user in a log file, and the
# directory of the user's own Python modules.
UNUSED = {"HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "_PYTHON_PROJECT_BASE"}


class Cold(Exception):
    """The reason why a play must start cold."""


class Reads:
    """The names of settings and environment variables that imports have read, and how often."""

    def __init__(self):
        self.settings, self.environment, self.before = collections.Counter(), set(), dict(os.environ)

    @contextlib.contextmanager
    def record(self, constants):
        reads, config, environment = self, constants.config, type(os.environ)

        class Constants(types.ModuleType):
            def __getattribute__(self, name):
                reads.settings[name] += 1

                return super().__getattribute__(name)

        class Environment(environment):
            def __getitem__(self, name):
                reads.environment.add(name)

                return super().__getitem__(name)

        get = config.get_config_value

        def get_config_value(name, *args, **kwargs):
            reads.settings[name] += 1

            return get(name, *args, **kwargs)

        constants.__class__, os.environ.__class__, config.get_config_value = Constants, Environment, get_config_value

        try:
            yield
        finally:
            constants.__class__, os.environ.__class__ = types.ModuleType, environment
            del config.get_config_value


class Memo:
    """YAML, plugins and defaults of settings that Ansible ships, read before they are needed.

    Each document and plugin is used once in a process, so that it is as new as if the process had read it.
    """

    def __init__(self):
        self.documents, self.plugins, self.templates = {}, {}, {}
        # A function that is called with the name of a method, and its arguments, that would have read something in
        # advance.
        self.learn = None
        self._load, yaml.load = yaml.load, self.load

    def attach(self):
        """Serve the Ansible that is imported."""
        import ansible
        from ansible.config import manager
        from ansible.plugins import loader

        self._loader, self._shipped = loader.action_loader, os.path.dirname(ansible.__file__) + os.sep
        self._source = loader.PluginLoader._load_module_source
        loader.PluginLoader._load_module_source = lambda _, **what: self.source(**what)
        self._environment = manager.NativeEnvironment()
        manager.NativeEnvironment = lambda: self

    def load(self, stream, Loader):
        """Replace yaml.load."""
        key = shipped_yaml.identify(stream, Loader)
        if key in self.documents:
            return self.documents.pop(key)

        document = self._load(stream, Loader)

        if key and self.learn:
            self.learn(self.document.__name__, key, document)

        return document

    def source(self, python_module_name, path):
        """Replace PluginLoader._load_module_source."""
        name = python_module_name

        if name not in sys.modules:
            if (name, path) in self.plugins:
                sys.modules[name] = self.plugins.pop((name, path))
            elif self.learn and path.startswith(self._shipped):
                self.learn(self.plugin.__name__, name, path)

        return self._source(self._loader, python_module_name=name, path=path)

    def from_string(self, source):
        """Replace jinja2.Environment.from_string, for the default of a setting."""
        if source in self.templates:
            return self.templates[source]

        if self.learn:
            self.learn(self.template.__name__, str(source))

        return self._environment.from_string(source)

    def template(self, source):
        """Compile a template. Rendering does not change it."""
        self.templates[source] = self._environment.from_string(source)

    def document(self, key, document):
        self.documents[key] = document

    def plugin(self, name, path):
        """Load a plugin, and hide it again. A plugin that imports from its collection is loaded when it is used."""
        with contextlib.suppress(ModuleNotFoundError):
            self.plugins[name, path] = self._source(self._loader, python_module_name=name, path=path)
            del sys.modules[name]


class Settings:
    """Ansible's settings in this process, and the places where imports have stored them."""

    # Keywords with a setting as their default: the class and the keyword.
    KEYWORDS = {
        "ANY_ERRORS_FATAL": ("base.Base", "any_errors_fatal"),
        "DEFAULT_NO_LOG": ("base.Base", "no_log"),
        "TASK_TIMEOUT": ("base.Base", "timeout"),
        "DEFAULT_STRATEGY": ("play.Play", "strategy"),
        "DEFAULT_POLL_INTERVAL": ("task.Task", "poll"),
        "ANSIBLE_PIPELINING": ("play_context.PlayContext", "pipelining"),
        "DEFAULT_BECOME_EXE": ("play_context.PlayContext", "become_exe"),
        "DEFAULT_BECOME_FLAGS": ("play_context.PlayContext", "become_flags"),
        "DEFAULT_EXECUTABLE": ("play_context.PlayContext", "executable"),
        "DEFAULT_MODULE_COMPRESSION": ("play_context.PlayContext", "module_compression"),
        "DEFAULT_PRIVATE_KEY_FILE": ("play_context.PlayContext", "private_key_file"),
        "DEFAULT_TIMEOUT": ("play_context.PlayContext", "timeout"),
    }

    def __init__(self, constants, reads):
        from ansible import playbook
        from ansible.plugins.loader import get_all_plugin_loaders

        self._constants, self._environment = constants, reads.before
        self._before = {name: vars(constants).get(name) for name in constants.config.get_configuration_definitions()}
        self._loaders, self._keywords = [], []
        seen = collections.Counter()

        for _, loader in get_all_plugin_loaders():
            for name, value in self._before.items():
                if value is loader.config and value:
                    self._loaders.append((loader, name))
                    seen[name] += 1

        for name, (where, keyword) in self.KEYWORDS.items():
            module, _, cls = where.partition(".")
            attribute = vars(getattr(getattr(playbook, module), cls))[keyword]

            if attribute.default == self._before[name]:
                self._keywords.append((attribute, name))
                seen[name] += 1

        # A setting that was read more often is stored in an unknown place.
        self._fixed = [name for name, times in reads.settings.items() if name in self._before and times > seen[name]]
        # Variables ANSIBLE_* are compared as settings.
        self._variables = {name for name in reads.environment - UNUSED if not name.startswith("ANSIBLE_")}

    def read(self):
        """Read the settings anew, as a new process would. Raises Cold if that is not enough."""
        now = dict(os.environ)

        for name in self._environment.keys() | now.keys():
            if (name.startswith(OF_LIBRARIES) or name in self._variables) and self._environment.get(name) != now.get(name):
                raise Cold(f"variable {name}")

        constants = self._constants
        # These are attributes of the class.
        constants.config.WARNINGS.clear()
        constants.config.DEPRECATED.clear()
        definitions = constants.config.get_configuration_definitions()
        # The definitions of settings do not change, only their values.
        constants.config._read_config_yaml_file = lambda _: definitions
        constants.config.__init__()
        del constants.config._read_config_yaml_file

        for name in definitions:
            vars(constants).pop(name, None)

        for name in definitions:
            constants.set_constant(name, constants.config.get_config_value(name, variables=vars(constants)))

        for name in self._fixed:
            if self._before[name] != vars(constants).get(name):
                raise Cold(f"setting {name}")

        for loader, name in self._loaders:
            loader.config = vars(constants)[name]

        for attribute, name in self._keywords:
            attribute.default = vars(constants)[name]
