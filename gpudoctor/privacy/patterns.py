"""Patterns of what must not leave the machine: secrets, addresses, numbers of devices. Each takes linear time on any text."""

from __future__ import annotations

import re
from collections.abc import Iterable

SECRET_KEY = re.compile(
    r"password|passwd|passphrase|secret|credential|api_?key|access_?key|private_?key|account_?key|(?:^|_)(?:token|auth|pat|cookie|psk)$|_pwd$"
    r"|(?:identity|refresh|access|auth|bearer|session|id)_?token$|(?:auth|api)tok$"
    r"|(?:^|_)(?:ssh|encryption|signing|license|auth)_?key$|^(?:wandb|openai|hf|huggingface|github|gitlab|aws)_(?:.*_)?(?:key|token)",
    re.IGNORECASE,
)
"""Names of variables and fields whose whole value is a secret."""
CREDENTIALS = re.compile(r"((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://)([^\s/@\"'<>]{1,500}(?:@[^\s/@\"'<>]{1,200})?)@", re.IGNORECASE)
CREDENTIALS_ALONE = re.compile(r"((?<![\w/@.-]))([\w.$-]{1,100}:[^\s/@\"'<>]{3,200})@(?=[\w-]{1,63}(?:\.[\w-]{1,63})+)")
"""user:password@server without a scheme before it."""
EMAIL = re.compile(r"(?<![\w.+-])(?!git@)(?:\"[^\"\n@]{1,64}\"|[\w][\w.+'-]{0,63})@(?:[\w-]{1,63}\.){1,5}[^\W\d_]{2,24}(?![\w-])")
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
IP_ALONE = re.compile(rf"\s*{_IPV4}\s*")
VERSION_KEY = re.compile(r"ver(?:sion)?(?:$|[_.-])|release|driver|cuda|cudnn|nccl|build|require_", re.IGNORECASE)
IP_KEY = re.compile(
    r"(?:^|[_ .-])(?:ip|ipv4|addr|address|host|server|gateway|peer|endpoint|dns|nameserver|proxy|nodelist|listen|bind)",
    re.IGNORECASE,
)
AMD_UUID = re.compile(r"(?<![\w-])GPU-([0-9a-f]{16})(?![\w-])", re.IGNORECASE)
SID = re.compile(r"(?<![\w-])S-1-5-21(?:-\d{1,12}){3,5}(?![\w-])")
MACHINE_ID = re.compile(r"((?:machine|boot|invocation)[ _-]?id[\"']?\s{0,8}[:=]\s{0,8}[\"']?)([0-9a-f]{32})(?![0-9a-f])", re.IGNORECASE)
SERIAL = re.compile(
    r"((?:\bdevice serial number |(?:\b|_)(?:serial(?:[ _-]?(?:number|no|num))?|s/n|unique[ _]id|asset[ _]?tag"
    r"|gpu pdi|provisioning udid)[\"']?"
    r"[ \t]{0,60}(?:\([^)\n]{0,60}\))?[ \t]{0,60}(?:[:=>](?!=)[ \t]{0,60}){1,4}[\"']?))([^\s\"'<>,}/]+(?![^\s\"'<>,}]))",
    re.IGNORECASE,
)
SERIAL_KEY = re.compile(r"(^|[_ -])(serial([_ -]?(no|num))?|udid|pdi)$|(serial[_ -]?number|unique_?id|asset_?tag|_udid)$", re.IGNORECASE)
NOTHING = frozenset({"", "n/a", "[n/a]", "none", "unknown", "0", "null", "not", "[not", "0x0", "true", "false", "default", "disabled"})
"""What stands where there is no number or secret."""
UNAME = re.compile(r"^((?:Linux|Darwin) )(?!version )(\S+)(?= \d+\.\d+)", re.MULTILINE)
BUILT_BY = re.compile(
    r"((?:Linux|Darwin Kernel) version \d[\w.+~-]{0,100} \()"
    r"(?!buildd@|mockbuild@|builder@|linux@|root@|debian-)([\w.-]{1,64})@([\w.-]{1,250})(?=\))"
)
LOG_HOST = re.compile(
    r"^((?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.,:+Z-]{0,20}|\[ {0,8}\d{1,9}\.\d{6}\]) )"
    r"([A-Za-z0-9][\w.-]{0,80})"
    r"(?= (?:kernel|systemd[\w-]{0,30}|sudo|sshd|audit|nvidia-[\w-]{1,30}|dockerd|NetworkManager)(?:\[\d{1,9}\])?:)",
    re.MULTILINE,
)
"""syslog, journalctl -o short, short-iso and short-monotonic name the host before the program."""
HOST_FIELD = re.compile(
    r"(\b(?:static |transient |pretty )?(?:hostname|host name|nodename|node name|(?:computer|machine) ?name|dns ?host ?name|fqdn"
    r"|(?:cs|ps ?computer|system|client)name|workgroup"
    r"|logonserver|userdomain|user ?dns ?domain|dns ?domain)[\"']?[ \t]{0,40}[=:](?!=)[ \t]{0,40}[\"']?)"
    r"(\\{0,4})([A-Za-z0-9][\w.-]{0,250})",
    re.IGNORECASE,
)
USER_FIELD = re.compile(
    r"((?<![A-Za-z0-9])(?:USER|LOGNAME|uid(?==[A-Za-z])|USERNAME|SUDO_USER|RUSER|ruser|username|uname|login name)[\"']?(?:=|: )[\"']?)"
    r"([^\s;,:\"'<>()=\\/]{1,100})"
)
PROCESS_ROW = re.compile(
    r"^(\|[ ]{1,8}\d{1,3}(?:[ ]{1,8}(?:N/A|\d{1,4})){0,2}[ ]{1,12}\d{1,10}[ ]{1,8}[CGM+]{1,3}[ ]{1,8})(\S[^\n|]{0,200})(?=\|[ ]*$)"
)
"""A process in the table of nvidia-smi, which cuts long paths off at their beginning."""
SETTING = re.compile(r"\d{1,3}|true|false|yes|no|on|off|file|auto|keyring", re.IGNORECASE)
"""The value of a field with the name of a secret that is none."""
ACCOUNT = re.compile(r"([\w.-]{1,250})(\\{1,4})([^\s\\/:]{1,100})")
"""An account of a Windows domain."""
AT_HOST = re.compile(r"(?<![\w.+-])([\w.-]{1,64})@([\w.-]{1,250})(?=[:\s~\])\"',;]|$)")
ID_LINE = re.compile(r"\buid=\d+\([^\n]*")
LISTING = re.compile(
    r"((?:^|(?<=[\s:]))[bcdlps-][rwxsStT-]{9}[+.@]?\s{1,8}\d{1,9}\s{1,8})(\S{1,100})(\s{1,8})(\S{1,100})(?=\s)", re.MULTILINE
)
GROUP_FILE = re.compile(r"^([\w.-]{1,100})(:[x!*]?:\d{1,10}:)([^\n:]*)$", re.MULTILINE)
PASSWD_FILE = re.compile(r"^([\w.-]{1,100})(:[x*!]?:\d{1,10}:\d{1,10}:)([^:\n]{0,200}):(/[^\n]*)$")
HOSTS_FILE = re.compile(r"^((?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})[ \t]{1,40})([^\n#]+)$", re.MULTILINE)
NETWORK_SOURCE = re.compile(r"^(?:[^\s@/:]{1,100}@)?[A-Za-z0-9\[][\w.:\]-]{0,250}:/|^//[^/\s]+/")
MOUNT = re.compile(r"^(\S+) (/\S*) (\S+) (\S+)( \d+ \d+)$", re.MULTILINE)
MOUNTED = re.compile(r"^(\S+)( on /\S* type )")
LONG_SHARE = re.compile(r"(\\\\[?.]\\UNC\\)([\w.-]{1,250})(\\)([\w$.-]{1,250})")
MOUNT_OPTION = re.compile(r"(?<![^,])(username|user|domain|dom|workgroup)=([^,\s]+)")
MOUNTINFO = re.compile(r"( - )((?:nfs4?|cifs|smb3|smbfs|fuse\.\w{1,30}|ceph|glusterfs|lustre|beegfs|9p) )(\S+)")
DF = re.compile(r"^(\S+)(?=\s+\d+\s+\d+\s+\d+\s+\d+%)", re.MULTILINE)
SHARE = re.compile(r"(^|[\s\"'=(])((?://|\\\\(?![?.\\]|wsl))[\w.-]{1,250})([/\\][\w$.-]{1,250})", re.MULTILINE)
URL = re.compile(
    r"((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://(?:<credentials>@)?)"
    r"(\[[0-9a-f:]{2,45}\]|[\w.-]{1,250})((?::\d{1,5})?)((?:/[^\s\"'<>,;|)\]}]*)?)",
    re.IGNORECASE,
)
SCP_ADDRESS = re.compile(r"(?<![\w./-])(git@|[\w.-]{1,64}@)([\w.-]{1,250}):((?!/|\d{1,5}\b)[\w.~-]{1,200}/[\w./~-]{1,300})")
SERVER = re.compile(
    r"(?<![\w./\\@:-])(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,5}"
    r"(?:com|org|net|edu|gov|corp|local|lan|internal|intranet|example)(?![\w(-])(?!\.\w)"
)
"""A name of a server by its last part; files and modules of programs do not end so."""
DOTTED_NAME = re.compile(r"(?<![\w./\\@:-])(?:[^\W_][\w-]{0,62}\.){1,10}(?:xn--[a-z0-9]{2,40}|[^\W\d_]{2,24})(?![\w(=-])(?!\.\w)")
WINDOWS_NAME = re.compile(r"(?<![\w-])(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{6,12}(?![\w-])")
"""The name that Windows generates for a computer."""
CONTAINER_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def any_of(words: Iterable[str], before: str, after: str, flags: int = 0) -> re.Pattern[str] | None:
    """One of the words, the longest first, between two expressions; None for no words."""
    choices = "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
    return re.compile(f"{before}(?:{choices}){after}", flags) if choices else None
