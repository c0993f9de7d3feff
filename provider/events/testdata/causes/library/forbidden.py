import json

from ansible.module_utils.basic import AnsibleModule

WHY = 'secrets is forbidden: User "system:serviceaccount:default:deployer" cannot create resource "secrets" in API group ""'
BODY = {
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": WHY, "reason": "Forbidden",
    "details": {"kind": "secrets"}, "code": 403}

# As kubernetes.core.k8s does, to which the body is bytes.
AnsibleModule(argument_spec={}).fail_json(
    msg="Failed to create object: {0}".format(json.dumps(BODY, separators=(",", ":")).encode() + b"\n"), error=403, status=403)
