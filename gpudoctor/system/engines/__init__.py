"""How a command reaches many hosts: one module for each transport that a site has. What none of them does is to move bytes by itself."""
