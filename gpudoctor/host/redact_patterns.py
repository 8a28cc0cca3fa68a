"""How what must not leave looks in a text: secrets, addresses, numbers of devices. Each pattern takes linear time on any text."""

from __future__ import annotations

import re

SECRETS = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{16,255}|github_pat_\w{16,255}|hf_[A-Za-z0-9]{16,255}|sk-[A-Za-z0-9_-]{16,255}"
    r"|[rsp]k_(?:live|test)_\w{10,255}"
    r"|(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}|gl(?:pat|dt|rt|ptt|cbt|soat)-[\w-]{16,255}|xox[abeprs]-[\w-]{10,255}|AIza[\w-]{30,255}"
    r"|ya29\.[\w-]{16,255}"
    r"|npm_[A-Za-z0-9]{30,255}|pypi-[\w-]{40,2000}|dckr_(?:pat|oat)_[\w-]{20,255}|dop_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}"
    r"|SG\.[\w-]{16,64}\.[\w-]{16,64}"
    r"|nvapi-[\w-]{20,255}|r8_[A-Za-z0-9]{30,64}|hvs\.[\w-]{20,255}|gsk_[A-Za-z0-9]{20,255}|eyJ[\w-]{8,4096}\.[\w-]{8,8192}\.[\w-]{5,4096})"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
    r"|(?<![A-Za-z0-9])(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\w{1,20}|sk-ssh-ed25519@openssh\.com) AAAA[A-Za-z0-9+/=]{20,}(?: [^\s\"',]+)?",
    re.DOTALL,
)
_NAMES_OF_SECRETS = (
    r"password|passwd|passphrase|pwd(?=[\"']?\s{0,8}[=:]\s{0,8}[\"']?[^\s/~\"'A-Z])|passcode|secret|secret[_-]?key|client[_-]?secret|api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key"
    r"|private[_-]?key|encryption[_-]?key|signing[_-]?key|ssh[_-]?key|license[_-]?key|auth[_-]?key|auth[_-]?token|access[_-]?token"
    r"|refresh[_-]?token|bearer|credentials?|token|sig|signature|session[_-]?id|cookie"
)
SECRET_FIELD = re.compile(
    rf"((?:(?<![A-Za-z0-9])|(?<=[a-z])(?=[A-Z]))(?:{_NAMES_OF_SECRETS})[\"']?\s{{0,8}}[=:](?!=)\s{{0,8}}[\"']?)([^\s\"'&,;<>]{{4,}})"
    r"|(\bauthorization[\"']?\s{0,8}[:=]\s{0,8}[\"']?(?:bearer|basic|token|digest|negotiate)\s{1,8})([^\s\"',;<>]+)"
    r"|((?<![\w-])--?(?:password|passwd|token|secret|api-key|access-token|pat)[ =])([^\s\"'&;<>-][^\s\"'&;<>]*)"
    r"|(\b(?:bearer|basic) )([A-Za-z0-9+/_=.-]{16,})",
    re.IGNORECASE,
)
SECRET_KEY = re.compile(
    r"password|passwd|passphrase|secret|credential|api_?key|access_?key|private_?key|account_?key|(?:^|_)(?:token|auth|pat|cookie)$|_pwd$"
    r"|(?:^|_)(?:ssh|encryption|signing|license|auth)_?key$|^(?:wandb|openai|hf|huggingface|github|gitlab|aws)_(?:.*_)?(?:key|token)",
    re.IGNORECASE,
)
"""Names of variables and fields whose whole value is a secret."""
CREDENTIALS = re.compile(r"((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://)([^\s/@\"'<>]{1,500}(?:@[^\s/@\"'<>]{1,200})?)@", re.IGNORECASE)
EMAIL = re.compile(r"(?<![\w.+-])(?!git@)[A-Za-z0-9_][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,12}(?![\w-])")
MAC = re.compile(
    r"(?<![\w:.-])[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?:(?:\1[0-9a-f]{2}){2}|(?:\1[0-9a-f]{2}){14})?(?![\w:-])",
    re.IGNORECASE,
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
PRIVATE_IP = re.compile(rf"(?<![\w.-])(?:192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\.{_OCTET}\.{_OCTET}(?![\w-]|\.\d)")
IP_IN_CONTEXT = re.compile(
    r"(//|@|\b(?:inet|inet6|addr|address|ip|host|hosts|hostname|server|peer|via|gateway|router|nameserver|nfsroot|proxy|no_proxy"
    r"|addr_v4|ip4?address|listening on|listen|connect(?:ed|ing|ion)?(?: to| from)?"
    r"|bind|dst|src|client|remote|dns|lease of|clientaddr|mountaddr|rhost"
    rf")\s?[=: ]\s?[\[(\"']?|(?<=\s)\[|^\[|\bfrom (?=[\d.]{{7,15}} port ))({_IPV4})(?![\w-]|\.\d)",
    re.IGNORECASE,
)
"""Not 'from' and 'to' alone: versions of four parts stand there too."""
IP_WITH_PORT = re.compile(rf"(?<![\w.=<>~-])({_IPV4})(?=:\d{{2,5}}\b|/(?:[12]?\d|3[0-2])\b)")
IP_ALONE = re.compile(rf"\s*{_IPV4}\s*")
IP_KEY = re.compile(
    r"(?:^|[_ .-])(?:ip|ipv4|addr|address|host|server|gateway|peer|endpoint|dns|nameserver|proxy|nodelist|listen|bind)",
    re.IGNORECASE,
)
IPV6 = re.compile(
    r"(?<![\w:.])(?:f[ef][0-9a-f]{2}|f[cd][0-9a-f]{2}|2[0-9a-f]{3}|3[0-9a-f]{3})(?::[0-9a-f]{0,4}){2,7}(?![\w:])",
    re.IGNORECASE,
)
UUID = re.compile(r"(?<![\w-])((?:GPU|MIG)-)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![\w-])", re.IGNORECASE)
AMD_UUID = re.compile(r"(?<![\w-])GPU-([0-9a-f]{16})(?![\w-])", re.IGNORECASE)
SID = re.compile(r"(?<![\w-])S-1-5-21(?:-\d{1,12}){3,5}(?![\w-])")
MACHINE_ID = re.compile(r"((?:machine|boot|invocation)[ _-]?id[\"']?\s{0,8}[:=]\s{0,8}[\"']?)([0-9a-f]{32})(?![0-9a-f])", re.IGNORECASE)
SERIAL = re.compile(
    r"((?:\bdevice serial number |(?:\b|_)(?:serial(?:[ _-]?(?:number|no|num))?|s/n|unique[ _]id|asset[ _]?tag)[\"']?"
    r"[ \t]{0,60}(?:\([^)\n]{0,60}\))?[ \t]{0,60}(?:[:=>](?!=)[ \t]{0,60}){1,4}[\"']?))([^\s\"'<>,}/]+(?![^\s\"'<>,}]))",
    re.IGNORECASE,
)
SERIAL_KEY = re.compile(r"(^|[_ -])(serial([_ -]?(number|no|num))?|unique_?id|asset_?tag|udid|provisioning_?udid)$", re.IGNORECASE)
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
    r"(\b(?:static |transient |pretty )?(?:hostname|host name|nodename|node name|computer ?name|dns ?host ?name|fqdn|logonserver|userdomain"
    r"|user ?dns ?domain|dns ?domain)[\"']?[ \t]{0,40}[=:](?!=)[ \t]{0,40}[\"']?)(\\{0,4})([A-Za-z0-9][\w.-]{0,250})",
    re.IGNORECASE,
)
USER_FIELD = re.compile(
    r"((?<![A-Za-z0-9])(?:USER|LOGNAME|USERNAME|SUDO_USER|RUSER|ruser|username|uname|login name)[\"']?(?:=|: )[\"']?)"
    r"([^\s;,:\"'<>()=\\/]{1,100})"
)
AT_HOST = re.compile(r"(?<![\w.+-])([\w.-]{1,64})@([\w.-]{1,250})(?=[:\s~\])\"',;]|$)")
ID_LINE = re.compile(r"\buid=\d+\([^\n]*")
LISTING = re.compile(r"^([bcdlps-][rwxsStT-]{9}[+.@]?\s{1,8}\d{1,9}\s{1,8})(\S{1,100})(\s{1,8})(\S{1,100})(?=\s)", re.MULTILINE)
GROUP_FILE = re.compile(r"^([\w.-]{1,100})(:[x!*]?:\d{1,10}:)([^\n:]*)$", re.MULTILINE)
HOSTS_FILE = re.compile(r"^((?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})[ \t]{1,40})([^\n#]+)$", re.MULTILINE)
NETWORK_SOURCE = re.compile(r"^(?:[^\s@/:]{1,100}@)?[A-Za-z0-9\[][\w.:\]-]{0,250}:/|^//[^/\s]+/")
MOUNT = re.compile(r"^(\S+) (/\S*) (\S+) (\S+)( \d+ \d+)$", re.MULTILINE)
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
WINDOWS_NAME = re.compile(r"(?<![\w-])(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{6,12}(?![\w-])")
"""What Windows calls a computer that nobody has named."""
CONTAINER_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
