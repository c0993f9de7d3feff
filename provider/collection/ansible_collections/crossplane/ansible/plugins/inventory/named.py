# SPDX-License-Identifier: Apache-2.0

"""Have the plugin that an inventory names read it, whatever the file is called."""

from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.plugins.loader import inventory_loader

DOCUMENTATION = """
name: named
short_description: the plugin that an inventory names
description:
  - Many inventory plugins take only files with a certain name. An AnsibleRun has the text of an inventory, and no name.
  - This plugin has the named one read what that does not take for its name alone.
author: [crossplane-ansible]
"""


class InventoryModule(BaseInventoryPlugin):
    NAME = "crossplane.ansible.named"

    @staticmethod
    def _named(loader, path):
        return inventory_loader.get(loader.load_from_file(path, cache="none")["plugin"])

    def verify_file(self, path):
        # What fails here is no configuration of a plugin: Ansible takes it for False.
        return super().verify_file(path) and not self._named(DataLoader(), path).verify_file(path)

    def parse(self, inventory, loader, path, cache=True):
        plugin = self._named(loader, path)
        # As the plugin auto does: from 2.19 on Ansible asks it whether templates are trusted.
        inventory._target_plugin = plugin
        plugin.parse(inventory, loader, path, cache=cache)

        if hasattr(plugin, "update_cache_if_changed"):
            plugin.update_cache_if_changed()
