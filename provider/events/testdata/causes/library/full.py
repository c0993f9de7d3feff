from ansible.module_utils.basic import AnsibleModule, missing_required_lib
raise OSError(28, 'No space left on device', '/root/.ansible/tmp/ansible-tmp-1/AnsiballZ_full.py')
